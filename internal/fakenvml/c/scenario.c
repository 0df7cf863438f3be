/* Reads the scenario file; README.md describes the language. */
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

static void note(int line, const char *what, const char *word)
{
	violation("scenario", "line %d: %s: %s", line, what, word);
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


static void parse_range(const char *word, uint64_t *from, uint64_t *to)
{
	char *end;
	*from = strtoull(word, &end, 10);
	*to = *from;
	if (*end == '-') *to = end[1] ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
}

static void parse_fault(struct scenario *s, char *const *words, int n, int line)
{
	if (n < 3) {
		note(line, "fault needs a function and an action", n > 1 ? words[1] : "");
		return;
	}
	s->faults = realloc(s->faults, (s->faults_len + 1) * sizeof *s->faults);
	struct fault *f = &s->faults[s->faults_len++];
	memset(f, 0, sizeof *f);
	f->gpu = -1;
	f->from = 1;
	f->to = UINT64_MAX;
	snprintf(f->pattern, sizeof f->pattern, "%s", words[1]);
	size_t len = strlen(f->pattern);
	if (len && f->pattern[len - 1] == '*') {
		f->prefix = 1;
		f->pattern[len - 1] = 0;
	}
	for (int i = 2; i < n; i++) {
		const char *next = i + 1 < n ? words[i + 1] : "";
		if (!strcmp(words[i], "gpu")) {
			f->gpu = strcmp(next, "all") ? (int)parse_int(next, 0) : -1;
			i++;
		} else if (!strcmp(words[i], "calls")) {
			if (!strcmp(next, "every")) {
				f->every = i + 2 < n ? parse_uint(words[i + 2]) : 1;
				i += 2;
			} else {
				parse_range(next, &f->from, &f->to);
				i++;
			}
		} else if (!strcmp(words[i], "return")) {
			f->has_return = 1;
			f->code = (int)parse_int(next, 999);
			i++;
		} else if (!strcmp(words[i], "delay")) {
			f->delay_ms = (unsigned)parse_uint(next);
			i++;
		} else if (!strcmp(words[i], "release-after")) {
			f->release_ms = (unsigned)parse_uint(next);
			i++;
		} else if (!strcmp(words[i], "hang")) {
			f->hang = 1;
		} else if (!strcmp(words[i], "hangwrite")) {
			f->write_path = strdup(next);
			i++;
		} else if (!strcmp(words[i], "segv")) {
			f->segv = 1;
		} else if (!strcmp(words[i], "abort")) {
			f->abort = 1;
		} else if (!strcmp(words[i], "exit")) {
			f->exit = 1;
			f->exit_code = (int)parse_int(next, 1);
			i++;
		} else {
			note(line, "unknown word in fault", words[i]);
		}
	}
}

/* event gpu N [at MS] (xid CODE | type MASK [data N]) [gi N] [ci N] */
static void parse_event(struct scenario *s, char *const *words, int n)
{
	s->events = realloc(s->events, (s->events_len + 1) * sizeof *s->events);
	struct event *e = &s->events[s->events_len];
	memset(e, 0, sizeof *e);
	e->gi = e->ci = UINT32_MAX;
	for (int i = 1; i + 1 < n; i += 2) {
		const char *next = words[i + 1];
		if (!strcmp(words[i], "gpu")) e->gpu = (unsigned)parse_uint(next);
		if (!strcmp(words[i], "at")) e->at_ms = (unsigned)parse_uint(next);
		if (!strcmp(words[i], "type")) e->type = parse_uint(next);
		if (!strcmp(words[i], "data")) e->data = parse_uint(next);
		if (!strcmp(words[i], "gi")) e->gi = (unsigned)parse_uint(next);
		if (!strcmp(words[i], "ci")) e->ci = (unsigned)parse_uint(next);
		if (!strcmp(words[i], "xid")) {
			e->type = 0x8;
			e->data = parse_uint(next);
		}
	}
	/* Equal lines are different events: the number of earlier ones is part of the id. */
	e->id = hash_words(words, n);
	for (unsigned i = 0; i < s->events_len; i++)
		if (s->events[i].id == e->id) e->id = e->id * 31 + 1, i = (unsigned)-1;
	s->events_len++;
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

static void parse_process(struct table *t, char *const *words, int n, int line)
{
	int kind = n > 1 ? process_kind_of(words[1]) : -1;
	if (kind < 0) {
		note(line, "process needs compute, graphics or mps", n > 1 ? words[1] : "");
		return;
	}
	struct process_list *l = &t->processes[kind];
	if (n > 2 && !strcmp(words[2], "none")) {
		l->len = 0;
		return;
	}
	if (n > 2 && !strcmp(words[2], "error")) {
		char key[32];
		snprintf(key, sizeof key, "processes.%d", kind);
		table_set(t, key, words + 2, n - 2);
		return;
	}
	if (n < 4) {
		note(line, "process line too short", words[0]);
		return;
	}
	struct process p = {0};
	p.gi = p.ci = UINT32_MAX;
	if (!strcmp(words[0], "processes")) {
		unsigned count = (unsigned)parse_uint(words[2]);
		if (count > MAX_PROCESSES) count = MAX_PROCESSES;
		p.pid = (unsigned)parse_uint(words[3]);
		p.bytes = n > 4 ? parse_uint(words[4]) : 1 << 20;
		for (unsigned i = 0; i < count; i++, p.pid++) {
			add_process(l, p);
			/* Every process has its own figure, so that a misread entry shows. */
			if (p.bytes != UINT64_MAX) p.bytes += 4096;
		}
		return;
	}
	p.pid = (unsigned)parse_uint(words[2]);
	p.bytes = parse_uint(words[3]);
	if (n > 4) p.gi = (unsigned)parse_uint(words[4]);
	if (n > 5) p.ci = (unsigned)parse_uint(words[5]);
	if (n > 6) p.protected_bytes = parse_uint(words[6]);
	add_process(l, p);
}

/* usage PID SM MEM ENC DEC [JPG OFA] [age MS | stamp US] */
static void parse_usage(struct table *t, char *const *words, int n)
{
	if (n > 1 && !strcmp(words[1], "none")) {
		t->usage_len = 0;
		return;
	}
	t->usage = realloc(t->usage, (t->usage_len + 1) * sizeof *t->usage);
	struct usage *u = &t->usage[t->usage_len++];
	memset(u, 0, sizeof *u);
	unsigned *fields[] = {&u->pid, &u->sm, &u->mem, &u->enc, &u->dec, &u->jpg, &u->ofa};
	unsigned field = 0;
	for (int i = 1; i < n; i++) {
		if (!strcmp(words[i], "age") && i + 1 < n) {
			u->age_us = parse_int(words[++i], 0) * 1000;
		} else if (!strcmp(words[i], "stamp") && i + 1 < n) {
			u->age_us = -1;
			u->stamp = parse_uint(words[++i]);
		} else if (field < sizeof fields / sizeof *fields) {
			*fields[field++] = (unsigned)parse_uint(words[i]);
		}
	}
}

static void parse_page(struct table *t, char *const *words, int n)
{
	t->pages = realloc(t->pages, (t->pages_len + 1) * sizeof *t->pages);
	struct page *p = &t->pages[t->pages_len++];
	p->cause = n > 1 && !strcmp(words[1], "double");
	p->address = n > 2 ? parse_uint(words[2]) : 0;
	p->stamp = n > 3 ? parse_uint(words[3]) : 0;
}

/* account PID GPU% MEM% MAXBYTES TIME_MS START_US RUNNING */
static void parse_account(struct table *t, char *const *words, int n)
{
	t->accounting = realloc(t->accounting, (t->accounting_len + 1) * sizeof *t->accounting);
	struct accounting *a = &t->accounting[t->accounting_len++];
	memset(a, 0, sizeof *a);
	if (n > 1) a->pid = (unsigned)parse_uint(words[1]);
	if (n > 2) a->gpu = (unsigned)parse_uint(words[2]);
	if (n > 3) a->mem = (unsigned)parse_uint(words[3]);
	if (n > 4) a->max_bytes = parse_uint(words[4]);
	if (n > 5) a->time_ms = parse_uint(words[5]);
	if (n > 6) a->start_us = parse_uint(words[6]);
	if (n > 7) a->running = (unsigned)parse_uint(words[7]);
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
static void parse_instance(struct gpu *g, char *const *words, int n, int line)
{
	unsigned index = n > 1 ? (unsigned)parse_uint(words[1]) : MAX_MIG;
	if (index >= MAX_MIG || n < 3) {
		note(line, "instance needs an index below 14", n > 1 ? words[1] : "");
		return;
	}
	struct table *m = &g->mig[index];
	if (!strcmp(words[2], "none")) {
		unsigned seed = m->seed;
		memset(m, 0, sizeof *m);
		m->seed = seed;
		return;
	}
	if (n < 5) {
		note(line, "instance needs GI, CI and a profile", words[2]);
		return;
	}
	unsigned slices = 1, gib = 10;
	if (sscanf(words[4], "%ug.%ugb", &slices, &gib) != 2)
		note(line, "profile is not like 1g.10gb", words[4]);
	m->present = 1;
	set_number(m, "gi", parse_uint(words[2]));
	set_number(m, "ci", parse_uint(words[3]));
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

static void parse_text(struct scenario *s, const char *text, int pass, struct gpu *model_of);

static void apply_model(struct scenario *s, struct gpu *g, const char *name, int line)
{
	for (int i = 0; models[i]; i += 2)
		if (!strcmp(models[i], name)) {
			table_clear(&g->table);
			parse_text(s, models[i + 1], 0, g);
			return;
		}
	note(line, "unknown model", name);
}

static void parse_device_line(struct gpu *g, struct table *t, char *const *words, int n, int line)
{
	const char *key = words[0];
	if (!strcmp(key, "process") || !strcmp(key, "processes")) {
		parse_process(t, words, n, line);
	} else if (!strcmp(key, "usage")) {
		parse_usage(t, words, n);
	} else if (!strcmp(key, "page")) {
		parse_page(t, words, n);
	} else if (!strcmp(key, "account")) {
		parse_account(t, words, n);
	} else if (!strcmp(key, "instance")) {
		parse_instance(g, words, n, line);
	} else if (!strcmp(key, "mig") && n > 1) {
		int on = !strcmp(words[1], "on");
		if (!strcmp(words[1], "error")) {
			table_set(t, "mig.current", words + 1, n - 1);
			return;
		}
		set_number(t, "mig.current", (uint64_t)on);
		set_number(t, "mig.pending",
		           n > 2 ? (uint64_t)!strcmp(words[2], "on") : (uint64_t)on);
		if (on && !table_find(t, "mig.max")) set_number(t, "mig.max", 7);
	} else if (n > 1) {
		table_set(t, key, words + 1, n - 1);
	} else {
		note(line, "no value for", key);
	}
}

static void parse_gpu_line(struct scenario *s, char *const *words, int n, int pass, int line)
{
	if (n < 3) {
		note(line, "gpu line too short", n > 1 ? words[1] : "");
		return;
	}
	int is_model = !strcmp(words[2], "model");
	if (is_model != (pass == 1)) return;
	uint64_t from = 0, to = s->gpus ? s->gpus - 1 : 0;
	int mig = NO_INSTANCE;
	if (!s->gpus) return;
	if (strcmp(words[1], "all")) {
		char *colon = strchr(words[1], ':');
		if (colon) mig = (int)parse_int(colon + 1, MAX_MIG);
		parse_range(words[1], &from, &to);
		if (colon) to = from;
	}
	if (from >= s->gpus || mig >= MAX_MIG) {
		note(line, "no such GPU", words[1]);
		return;
	}
	for (uint64_t i = from; i <= to && i < s->gpus; i++) {
		struct gpu *g = &s->gpu[i];
		if (is_model)
			apply_model(s, g, n > 3 ? words[3] : "", line);
		else
			parse_device_line(g, mig == NO_INSTANCE ? &g->table : &g->mig[mig], words + 2,
			                  n - 2, line);
	}
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
 * parse_text reads all lines: at pass 0 what concerns no GPU, at pass 1 models,
 * at pass 2 the other lines of GPUs. The text of a model has those alone,
 * without their first two words.
 */
static void parse_text(struct scenario *s, const char *text, int pass, struct gpu *model_of)
{
	char *copy = strdup(text), *next = copy;
	int line = 0;
	char **words = calloc(MAX_WORDS, sizeof *words);
	while (next) {
		char *start = next;
		next = strchr(start, '\n');
		if (next) *next++ = 0;
		line++;
		int n = 0;
		for (char *w; n < MAX_WORDS && (w = next_word(&start)) && *w != '#';) words[n++] = w;
		if (n == 0) continue;
		if (model_of) {
			parse_device_line(model_of, &model_of->table, words, n, line);
		} else if (!strcmp(words[0], "gpus")) {
			if (pass == 0 && n > 1) s->gpus = (unsigned)parse_uint(words[1]);
			if (s->gpus > MAX_GPUS) s->gpus = MAX_GPUS;
		} else if (!strcmp(words[0], "gpu")) {
			if (pass > 0) parse_gpu_line(s, words, n, pass, line);
		} else if (pass == 0) {
			if (!strcmp(words[0], "fault"))
				parse_fault(s, words, n, line);
			else if (!strcmp(words[0], "event"))
				parse_event(s, words, n);
			else if (n > 1)
				table_set(&s->global, words[0], words + 1, n - 1);
			else
				note(line, "no value for", words[0]);
		}
	}
	free(words);
	free(copy);
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
	parse_text(s, text ? text : "", 0, NULL);
	s->gpu = calloc(s->gpus + 1, sizeof *s->gpu);
	for (unsigned i = 0; i < s->gpus; i++) {
		s->gpu[i].table.seed = i + 1;
		for (unsigned m = 0; m < MAX_MIG; m++)
			s->gpu[i].mig[m].seed = (i + 1) * 100 + m;
	}
	struct value *model = table_find(&s->global, "model");
	for (unsigned i = 0; i < s->gpus; i++)
		apply_model(s, &s->gpu[i], model ? model->text : "h100", 0);
	parse_text(s, text ? text : "", 1, NULL);
	parse_text(s, text ? text : "", 2, NULL);
	number_gpus(s);
	free(text);
	stamp = found;
	now = s;
}
