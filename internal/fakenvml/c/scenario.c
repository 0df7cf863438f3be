/* Reads the scenario file; README.md describes the language. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { MAX_WORDS = 600, MAX_PROCESSES = 1 << 20, PATH_SIZE = 4096, RECHECK_US = 20000 };

struct scenario *now;

static char scenario_path[PATH_SIZE];
static char library_dir[PATH_SIZE];

static void find_scenario(void)
{
	const char *path = getenv("FAKENVML_SCENARIO");
	os_library_dir(library_dir, sizeof library_dir);
	if (path && *path)
		snprintf(scenario_path, sizeof scenario_path, "%s", path);
	else
		snprintf(scenario_path, sizeof scenario_path, "%.4000sscenario.txt", library_dir);
}

void scenario_sibling(const char *name, char *path, size_t size)
{
	const char *end = strrchr(scenario_path, '/');
	const char *back = strrchr(scenario_path, '\\');
	if (!end || (back && back > end)) end = back;
	int dir = end ? (int)(end - scenario_path) + 1 : 0;
	snprintf(path, size, "%.*s%s", dir, scenario_path, name);
}

/* Where reading is: the line, 0 in the text of a model, and which lines have a note. */
static int reading;
static char *noted;

/* note says once a line that the scenario was not understood there. */
static void note(const char *what, const char *word)
{
	if (!noted[reading]) violation("scenario", "line %d: %s: %s", reading, what, word);
	noted[reading] = 1;
}

static uint64_t hash_words(char *const *words, int n)
{
	uint64_t h = 14695981039346656037u;
	for (int i = 0; i < n; i++)
		for (const char *s = words[i];; s++) {
			h = (h ^ (unsigned char)*s) * 1099511628211u;
			if (!*s) break;
		}
	return h;
}

/* numbers reads the words from the index on as whole numbers; 0, with a note, when one is none. */
static int numbers(char *const *words, int n, int index, int count, uint64_t *out)
{
	for (int i = 0; i < count; i++) {
		if (index + i >= n) {
			note("a number is missing", words[0]);
			return 0;
		}
		if (!parse_whole(words[index + i], &out[i])) {
			note("a number is needed", words[index + i]);
			return 0;
		}
	}
	return 1;
}

/* parse_range reads A, A-B or A-. */
static int parse_range(const char *word, uint64_t *from, uint64_t *to)
{
	char *end;
	if (!isdigit((unsigned char)*word)) return 0;
	*from = strtoull(word, &end, 10);
	*to = *from;
	if (*end == '-') {
		*to = UINT64_MAX;
		if (*++end) *to = strtoull(end, &end, 10);
	}
	return !*end && *from <= *to;
}

/* is_function tells whether a driver of any generation has such a function. */
static int is_function(const struct fault *f)
{
	for (int i = 0; known_functions[i]; i++)
		if (f->prefix ? !strncmp(known_functions[i], f->pattern, strlen(f->pattern))
		              : !strcmp(known_functions[i], f->pattern))
			return 1;
	return 0;
}

/* fault FUNCTION [gpu N] [calls A | A-B | A- | every K] ACTION... */
static void parse_fault(struct scenario *s, char *const *words, int n)
{
	struct fault f = {.gpu = -1, .from = 1, .to = UINT64_MAX};
	int actions = 0;
	if (n < 3) {
		note("fault needs a function and an action", n > 1 ? words[1] : "");
		return;
	}
	snprintf(f.pattern, sizeof f.pattern, "%s", words[1]);
	size_t len = strlen(f.pattern);
	if (len && f.pattern[len - 1] == '*') {
		f.prefix = 1;
		f.pattern[len - 1] = 0;
	}
	if (!is_function(&f)) {
		note("no such function", words[1]);
		return;
	}
	for (int i = 2; i < n; i++) {
		const char *word = words[i], *next = i + 1 < n ? words[i + 1] : "";
		uint64_t number;
		actions++;
		if (!strcmp(word, "hang")) {
			f.hang = 1;
		} else if (!strcmp(word, "segv")) {
			f.segv = 1;
		} else if (!strcmp(word, "abort")) {
			f.abort = 1;
		} else if (!strcmp(word, "hangwrite") && *next) {
			f.write_path = strdup(next);
			i++;
		} else if (!strcmp(word, "calls") && !strcmp(next, "every")) {
			actions--;
			if (!numbers(words, n, i + 2, 1, &f.every)) return;
			i += 2;
		} else if (!strcmp(word, "calls")) {
			actions--;
			i++;
			if (!parse_range(next, &f.from, &f.to)) {
				note("calls needs a number, a range or every", next);
				return;
			}
		} else {
			int is_gpu = !strcmp(word, "gpu"), is_release = !strcmp(word, "release-after");
			int is_return = !strcmp(word, "return"), is_delay = !strcmp(word, "delay");
			int is_exit = !strcmp(word, "exit");
			if (!is_gpu && !is_release && !is_return && !is_delay && !is_exit) {
				note("unknown word in fault", word);
				return;
			}
			if (!numbers(words, n, ++i, 1, &number)) return;
			actions -= is_gpu || is_release;
			if (is_gpu) f.gpu = (int)number;
			if (is_release) f.release_ms = (unsigned)number;
			if (is_delay) f.delay_ms = (unsigned)number;
			f.has_return |= is_return;
			f.exit |= is_exit;
			if (is_return) f.code = (int)number;
			if (is_exit) f.exit_code = (int)number;
		}
	}
	if (!actions) {
		note("fault without an action", words[1]);
		return;
	}
	s->faults = realloc(s->faults, (s->faults_len + 1) * sizeof *s->faults);
	s->faults[s->faults_len++] = f;
}

/* event gpu N [at MS] (xid CODE | type MASK [data N]) [gi N] [ci N] */
static void parse_event(struct scenario *s, char *const *words, int n)
{
	struct event e = {.gpu = UINT32_MAX, .gi = UINT32_MAX, .ci = UINT32_MAX};
	for (int i = 1; i < n; i += 2) {
		uint64_t number = 0;
		const char *word = words[i];
		if (strcmp(word, "gpu") && strcmp(word, "at") && strcmp(word, "type") &&
		    strcmp(word, "data") && strcmp(word, "gi") && strcmp(word, "ci") &&
		    strcmp(word, "xid")) {
			note("unknown word in event", word);
			return;
		}
		if (!numbers(words, n, i + 1, 1, &number)) return;
		if (!strcmp(word, "gpu")) e.gpu = (unsigned)number;
		if (!strcmp(word, "at")) e.at_ms = (unsigned)number;
		if (!strcmp(word, "type")) e.type = number;
		if (!strcmp(word, "data")) e.data = number;
		if (!strcmp(word, "gi")) e.gi = (unsigned)number;
		if (!strcmp(word, "ci")) e.ci = (unsigned)number;
		if (!strcmp(word, "xid")) {
			e.type = 0x8;
			e.data = number;
		}
	}
	if (e.gpu >= s->gpus || !e.type) {
		note("event needs a GPU that is there, and xid or type", n > 1 ? words[1] : "");
		return;
	}
	/* Equal lines are different events: the number of earlier ones is part of the id. */
	e.id = hash_words(words, n);
	for (unsigned i = 0; i < s->events_len; i++)
		if (s->events[i].id == e.id) e.id = e.id * 31 + 1, i = (unsigned)-1;
	s->events = realloc(s->events, (s->events_len + 1) * sizeof *s->events);
	s->events[s->events_len++] = e;
}

static int process_kind_of(const char *word)
{
	if (!strcmp(word, "compute")) return PROCESS_COMPUTE;
	if (!strcmp(word, "graphics")) return PROCESS_GRAPHICS;
	if (!strcmp(word, "mps")) return PROCESS_MPS;
	return -1;
}

static void add_process(struct process_list *l, struct process p)
{
	if (l->len == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 16;
		l->items = realloc(l->items, l->cap * sizeof *l->items);
	}
	l->items[l->len++] = p;
}

/*
 * process KIND PID BYTES [GI CI [PROTECTED]], processes KIND COUNT FIRSTPID BYTES,
 * and for both KIND none, KIND error N.
 */
static void parse_process(struct table *t, char *const *words, int n)
{
	int kind = n > 1 ? process_kind_of(words[1]) : -1;
	int many = !strcmp(words[0], "processes");
	uint64_t d[5] = {0, 0, UINT32_MAX, UINT32_MAX, 0};
	if (kind < 0) {
		note("compute, graphics or mps is needed", n > 1 ? words[1] : "");
		return;
	}
	struct process_list *l = &t->processes[kind];
	if (n == 3 && !strcmp(words[2], "none")) {
		l->len = 0;
		return;
	}
	if (n == 4 && !strcmp(words[2], "error")) {
		char key[32];
		snprintf(key, sizeof key, "processes.%d", kind);
		if (numbers(words, n, 3, 1, d)) table_set(t, key, words + 2, n - 2);
		return;
	}
	if (many ? n != 5 : n != 4 && n != 6 && n != 7) {
		note("too many or too few words", words[0]);
		return;
	}
	if (!numbers(words, n, 2, n - 2, d)) return;
	struct process p = {(unsigned)d[0], d[1], (unsigned)d[2], (unsigned)d[3], d[4]};
	if (!many) {
		add_process(l, p);
		return;
	}
	struct process next = {(unsigned)d[1], d[2], UINT32_MAX, UINT32_MAX, 0};
	for (uint64_t i = 0; i < d[0] && i < MAX_PROCESSES; i++, next.pid++) {
		add_process(l, next);
		/* Every process has its own figure, so that a misread entry shows. */
		if (next.bytes != UINT64_MAX) next.bytes += 4096;
	}
}

/* usage PID SM MEM ENC DEC [JPG OFA] [age MS | stamp US] */
static void parse_usage(struct table *t, char *const *words, int n)
{
	uint64_t d[7] = {0}, when = 0;
	struct usage u = {0};
	if (n == 2 && !strcmp(words[1], "none")) {
		t->usage_len = 0;
		return;
	}
	int count = n - 1;
	const char *last = n > 2 ? words[n - 2] : "";
	if (!strcmp(last, "age") || !strcmp(last, "stamp")) {
		count -= 2;
		if (!numbers(words, n, n - 1, 1, &when)) return;
		u.age_us = *last == 'a' ? (int64_t)when * 1000 : -1;
		u.stamp = when;
	}
	if (count != 5 && count != 7) {
		note("too many or too few words", words[0]);
		return;
	}
	if (!numbers(words, n, 1, count, d)) return;
	u.pid = (unsigned)d[0];
	u.sm = (unsigned)d[1];
	u.mem = (unsigned)d[2];
	u.enc = (unsigned)d[3];
	u.dec = (unsigned)d[4];
	u.jpg = (unsigned)d[5];
	u.ofa = (unsigned)d[6];
	t->usage = realloc(t->usage, (t->usage_len + 1) * sizeof *t->usage);
	t->usage[t->usage_len++] = u;
}

/* page single|double ADDRESS STAMP */
static void parse_page(struct table *t, char *const *words, int n)
{
	uint64_t d[2];
	int twice = n > 1 && !strcmp(words[1], "double");
	if (n != 4 || (!twice && strcmp(words[1], "single"))) {
		note("page needs single or double, address and stamp", n > 1 ? words[1] : "");
		return;
	}
	if (!numbers(words, n, 2, 2, d)) return;
	t->pages = realloc(t->pages, (t->pages_len + 1) * sizeof *t->pages);
	t->pages[t->pages_len++] = (struct page){(unsigned)twice, d[0], d[1]};
}

/* account PID GPU% MEM% MAXBYTES TIME_MS START_US RUNNING */
static void parse_account(struct table *t, char *const *words, int n)
{
	uint64_t d[7];
	if (n != 8) {
		note("too many or too few words", words[0]);
		return;
	}
	if (!numbers(words, n, 1, 7, d)) return;
	t->accounting = realloc(t->accounting, (t->accounting_len + 1) * sizeof *t->accounting);
	t->accounting[t->accounting_len++] = (struct accounting){
		.pid = (unsigned)d[0],
		.gpu = (unsigned)d[1],
		.mem = (unsigned)d[2],
		.max_bytes = d[3],
		.time_ms = d[4],
		.start_us = d[5],
		.running = (unsigned)d[6],
	};
}

static void set_number(struct table *t, const char *key, uint64_t value)
{
	char text[32];
	char *words[] = {text};
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	table_set(t, key, words, 1);
}

static void set_word(struct table *t, const char *key, const char *value)
{
	char *words[] = {(char *)value};
	table_set(t, key, words, 1);
}

/* instance INDEX GI CI PROFILE: a MIG device, with all that follows from its profile. */
static void parse_instance(struct gpu *g, char *const *words, int n)
{
	uint64_t index, ids[2];
	if (!numbers(words, n, 1, 1, &index)) return;
	if (index >= MAX_MIG) {
		note("instance needs an index below 14", words[1]);
		return;
	}
	struct table *m = &g->mig[index];
	if (n == 3 && !strcmp(words[2], "none")) {
		table_clear(m);
		return;
	}
	if (n != 5) {
		note("instance needs index, GI, CI and a profile", words[1]);
		return;
	}
	unsigned slices = 1, gib = 10;
	int end = -1;
	if (!numbers(words, n, 2, 2, ids)) return;
	if (sscanf(words[4], "%ug.%ugb%n", &slices, &gib, &end) != 2 || end < 0 || words[4][end]) {
		note("profile is not like 1g.10gb", words[4]);
		return;
	}
	m->present = 1;
	set_number(m, "gi", ids[0]);
	set_number(m, "ci", ids[1]);
	set_word(m, "profile", words[4]);
	set_number(m, "memory.total", (uint64_t)gib << 30);
	set_number(m, "memory.reserved", 16 << 20);
	set_number(m, "memory.used", (uint64_t)gib << 28);
	set_number(m, "bar1.total", (uint64_t)gib << 30);
	set_number(m, "bar1.used", 1 << 20);
	set_number(m, "attribute.memory", (uint64_t)gib << 10);
	set_number(m, "attribute.sm", slices * 16);
	set_number(m, "attribute.copy", slices);
	set_number(m, "attribute.decoder", slices);
	set_number(m, "attribute.encoder", 0);
	set_number(m, "attribute.jpeg", slices);
	set_number(m, "attribute.ofa", slices >= 7);
	set_number(m, "attribute.gislices", slices);
	set_number(m, "attribute.cislices", slices);
}

/* mig on|off [on|off], current and pending, or mig error N */
static void parse_mig(struct table *t, char *const *words, int n)
{
	uint64_t code, on[2];
	if (n == 3 && !strcmp(words[1], "error")) {
		if (numbers(words, n, 2, 1, &code)) table_set(t, "mig.current", words + 1, 2);
		return;
	}
	for (int i = 1; i < n; i++) {
		if (n > 3 || (strcmp(words[i], "on") && strcmp(words[i], "off"))) {
			note("mig needs on or off, once or twice", words[i]);
			return;
		}
		on[i - 1] = !strcmp(words[i], "on");
	}
	if (n < 2) {
		note("mig needs on or off, once or twice", "");
		return;
	}
	set_number(t, "mig.current", on[0]);
	set_number(t, "mig.pending", on[n - 2]);
	if (on[0] && !table_find(t, "mig.max")) set_number(t, "mig.max", 7);
}

static const char *model_text(const char *name)
{
	for (int i = 0; models[i]; i += 2)
		if (!strcmp(models[i], name)) return models[i + 1];
	note("unknown model", name);
	return NULL;
}

static void parse_text(struct scenario *s, const char *text, int pass, struct gpu *model_of);

static void apply_model(struct scenario *s, struct gpu *g, const char *name)
{
	const char *text = model_text(name);
	if (!text) return;
	table_clear(&g->table);
	parse_text(s, text, 0, g);
}

static void set_key(struct table *t, int place, char *const *words, int n)
{
	const char *wrong = key_set(t, place, words, n);
	char text[256] = "";
	for (int i = 0; wrong && i < n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %s" : "%s", words[i]);
	if (wrong) note(wrong, text);
}

/* parse_device_line reads a line about a MIG device, or about a GPU where mig is NO_INSTANCE. */
static void parse_device_line(struct gpu *g, int mig, char *const *words, int n)
{
	const char *key = words[0];
	int is_gpu = mig == NO_INSTANCE;
	struct table *t = is_gpu ? &g->table : &g->mig[mig];
	t->line = reading;
	if (!strcmp(key, "process") || !strcmp(key, "processes"))
		parse_process(t, words, n);
	else if (!strcmp(key, "usage"))
		parse_usage(t, words, n);
	else if (is_gpu && !strcmp(key, "page"))
		parse_page(t, words, n);
	else if (is_gpu && !strcmp(key, "account"))
		parse_account(t, words, n);
	else if (is_gpu && !strcmp(key, "instance"))
		parse_instance(g, words, n);
	else if (is_gpu && !strcmp(key, "mig"))
		parse_mig(t, words, n);
	else
		set_key(t, is_gpu ? GPU : MIG, words, n);
}

/* parse_which reads N, A-B, all or N:INDEX; without GPUs "all" is the spare one. */
static int parse_which(const struct scenario *s, const char *word, uint64_t *from, uint64_t *to, int *mig)
{
	uint64_t last = s->gpus ? s->gpus - 1 : 0, index;
	const char *colon = strchr(word, ':');
	char *end;
	*mig = NO_INSTANCE;
	*from = 0;
	*to = last;
	if (!strcmp(word, "all")) return 1;
	if (!colon) return parse_range(word, from, to) && *to < s->gpus;
	*from = *to = strtoull(word, &end, 10);
	if (!isdigit((unsigned char)*word) || end != colon || !parse_whole(colon + 1, &index)) return 0;
	*mig = index < MAX_MIG ? (int)index : MAX_MIG;
	return *to < s->gpus && index < MAX_MIG;
}

static void parse_gpu_line(struct scenario *s, char *const *words, int n, int pass)
{
	uint64_t from, to;
	int mig;
	if (n < 3) {
		note("gpu line too short", n > 1 ? words[1] : "");
		return;
	}
	int is_model = !strcmp(words[2], "model");
	if (is_model != (pass == 1)) return;
	if (!parse_which(s, words[1], &from, &to, &mig)) {
		note("no such GPU", words[1]);
		return;
	}
	if (is_model && (n != 4 || mig != NO_INSTANCE)) {
		note("a GPU's model is one word", words[1]);
		return;
	}
	for (uint64_t i = from; i <= to; i++) {
		if (is_model)
			apply_model(s, &s->gpu[i], words[3]);
		else
			parse_device_line(&s->gpu[i], mig, words + 2, n - 2);
	}
}

/* gpus N */
static void parse_gpus(struct scenario *s, char *const *words, int n)
{
	uint64_t count;
	if (!numbers(words, n, 1, 1, &count)) return;
	if (n > 2 || count > MAX_GPUS)
		note("gpus needs a number, at most 256", words[n - 1]);
	else
		s->gpus = (unsigned)count;
}

/* next_word cuts the next word off a line; NULL at its end. */
static char *next_word(char **line)
{
	static const char blanks[] = " \t\r";
	char *word = *line + strspn(*line, blanks);
	if (!*word) return NULL;
	char *end = word + strcspn(word, blanks);
	*line = *end ? end + 1 : end;
	*end = 0;
	return word;
}

/*
 * parse_line reads a line at its pass: 0 for what concerns the library, 1 for
 * models, 2 for GPUs, faults and events.
 */
static void parse_line(struct scenario *s, char *const *words, int n, int pass)
{
	const char *first = words[0];
	if (!strcmp(first, "gpu")) {
		if (pass > 0) parse_gpu_line(s, words, n, pass);
	} else if (!strcmp(first, "fault")) {
		if (pass == 2) parse_fault(s, words, n);
	} else if (!strcmp(first, "event")) {
		if (pass == 2) parse_event(s, words, n);
	} else if (pass > 0) {
		return;
	} else if (!strcmp(first, "gpus")) {
		parse_gpus(s, words, n);
	} else if (!strcmp(first, "model")) {
		if (n != 2)
			note("model needs one name", n > 1 ? words[1] : "");
		else if (model_text(words[1]))
			table_set(&s->global, first, words + 1, 1);
	} else {
		set_key(&s->global, LIBRARY, words, n);
	}
}

/* parse_text reads all lines; the text of a model has those of GPUs alone, without "gpu N". */
static void parse_text(struct scenario *s, const char *text, int pass, struct gpu *model_of)
{
	char *copy = strdup(text), *next = copy;
	int line = 0, before = reading;
	char **words = calloc(MAX_WORDS, sizeof *words);
	while (next) {
		char *start = next;
		next = strchr(start, '\n');
		if (next) *next++ = 0;
		reading = model_of ? 0 : ++line;
		int n = 0;
		char *word;
		while ((word = next_word(&start)) && *word != '#' && n < MAX_WORDS) words[n++] = word;
		if (n == MAX_WORDS)
			note("too many words", words[0]);
		else if (n > 0 && model_of)
			parse_device_line(model_of, NO_INSTANCE, words, n);
		else if (n > 0)
			parse_line(s, words, n, pass);
	}
	reading = before;
	free(words);
	free(copy);
}

/* check_instances notes lines about MIG devices that are not there. */
static void check_instances(struct scenario *s)
{
	for (unsigned i = 0; i < s->gpus; i++)
		for (unsigned m = 0; m < MAX_MIG; m++) {
			struct table *t = &s->gpu[i].mig[m];
			char which[32];
			reading = t->line;
			snprintf(which, sizeof which, "%u:%u", i, m);
			if (reading && !t->present) note("no such MIG device", which);
		}
	reading = 0;
}

/* number_gpus fills in what must differ between GPUs and was not written. */
static void number_gpus(struct scenario *s)
{
	char text[96];
	for (unsigned i = 0; i < s->gpus; i++) {
		struct table *t = &s->gpu[i].table;
		if (!table_find(t, "uuid")) {
			snprintf(text, sizeof text, "GPU-%08x-fa4e-4d1a-9c3b-0000000000%02x",
			         0x5ca1ab1eu + i * 0x01010101u, i);
			set_word(t, "uuid", text);
		}
		if (!table_find(t, "busid")) {
			snprintf(text, sizeof text, "%08X:%02X:00.0", i / 200, 0x1b + i % 200);
			set_word(t, "busid", text);
		}
		if (!table_find(t, "serial")) {
			snprintf(text, sizeof text, "165022100%04u", 1000 + i);
			set_word(t, "serial", text);
		}
		if (!table_find(t, "minor")) set_number(t, "minor", i);
		if (!table_find(t, "moduleid")) set_number(t, "moduleid", i + 1);
		if (!table_find(t, "boardid")) set_number(t, "boardid", 0x1b00 + i * 0x100);
		for (unsigned m = 0; m < MAX_MIG; m++) {
			struct table *mt = &s->gpu[i].mig[m];
			if (!mt->present) continue;
			if (!table_find(mt, "uuid")) {
				snprintf(text, sizeof text, "MIG-%08x-fa4e-5d1a-9c3b-00000000%02x%02x",
				         0xa1b2c3d4u + i * 0x01010101u + m, i, m);
				set_word(mt, "uuid", text);
			}
			if (!table_find(mt, "name")) {
				struct value *name = table_find(t, "name");
				struct value *profile = table_find(mt, "profile");
				char *words[3] = {name ? name->text : (char *)"NVIDIA GPU",
				                  (char *)"MIG",
				                  profile ? profile->text : (char *)"1g.10gb"};
				table_set(mt, "name", words, 3);
			}
		}
	}
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) return NULL;
	size_t size = 0, cap = 1 << 16;
	char *text = malloc(cap + 1);
	for (size_t n; (n = fread(text + size, 1, cap - size, f)) > 0;) {
		size += n;
		if (size == cap) text = realloc(text, (cap *= 2) + 1);
	}
	fclose(f);
	text[size] = 0;
	return text;
}

void scenario_refresh(int force)
{
	static int64_t checked_us, stamp = -2;
	static uint64_t serial;
	int64_t clock = os_now_us();
	if (now && !force && clock - checked_us < RECHECK_US) return;
	if (!now) find_scenario();
	checked_us = clock;
	int64_t found = os_stamp(scenario_path);
	/* A file that vanishes for a moment, between two versions, changes nothing. */
	if (now && (found == stamp || found == -1)) return;
	char *text = read_file(scenario_path);
	if (!text && now) return;

	struct scenario *s = calloc(1, sizeof *s);
	s->gpus = 2;
	s->serial = ++serial;
	s->loaded_us = now ? now->loaded_us : clock;
	size_t lines = 2;
	for (const char *c = text; c && *c; c++) lines += *c == '\n';
	noted = calloc(1, lines);
	parse_text(s, text ? text : "", 0, NULL);
	s->gpu = calloc(s->gpus + 1, sizeof *s->gpu);
	for (unsigned i = 0; i < s->gpus; i++) {
		s->gpu[i].table.seed = i + 1;
		for (unsigned m = 0; m < MAX_MIG; m++)
			s->gpu[i].mig[m].seed = (i + 1) * 100 + m;
	}
	struct value *model = table_find(&s->global, "model");
	for (unsigned i = 0; i < s->gpus; i++)
		apply_model(s, &s->gpu[i], model ? model->text : "h100");
	parse_text(s, text ? text : "", 1, NULL);
	parse_text(s, text ? text : "", 2, NULL);
	check_instances(s);
	number_gpus(s);
	free(noted);
	free(text);
	stamp = found;
	now = s;
}
