/* Values that stand still or move, and the tables that hold them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

int parse_whole(const char *s, uint64_t *n)
{
	static const char *const units[] = {"", "KiB", "MiB", "GiB"};
	char *end;
	*n = UINT64_MAX;
	if (!strcmp(s, "none")) return 1;
	*n = s[0] == '-' ? (uint64_t)strtoll(s, &end, 0) : strtoull(s, &end, 0);
	for (unsigned i = 0; end != s && i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i])) continue;
		*n <<= 10 * i;
		return 1;
	}
	return 0;
}

int number_word(const char *s, uint64_t *whole, double *real)
{
	char *end;
	if (parse_whole(s, whole)) {
		*real = s[0] == '-' ? (double)(int64_t)*whole : (double)*whole;
		return 1;
	}
	*real = strtod(s, &end);
	if (end == s || *end) return 0;
	*whole = *real < 0 ? (uint64_t)(int64_t)*real : (uint64_t)*real;
	return 1;
}

/* real_words reads all words as real numbers; 0 when one is none. */
static int real_words(char *const *words, int n, double *out)
{
	for (int i = 0; i < n; i++) {
		char *end;
		out[i] = strtod(words[i], &end);
		if (end == words[i] || *end) return 0;
	}
	return 1;
}

/* parse_moving reads the numbers behind the word of a moving value; 0 when they are none. */
static int parse_moving(struct value *v, const char *word, char *const *words, int n)
{
	double d[4];
	if (!strcmp(word, "list")) {
		v->list = calloc((size_t)n + 1, sizeof *v->list);
		v->list_len = n;
		v->kind = VALUE_LIST;
		return n > 0 && real_words(words, n, v->list);
	}
	if (n < 1 || n > 4 || !real_words(words, n, d)) return 0;
	if (!strcmp(word, "walk") && n != 2) {
		v->kind = VALUE_WALK;
		v->step = d[0];
		v->low = n > 1 ? d[1] : 0;
		v->high = n > 1 ? d[2] : 100;
		v->real = n > 3 ? d[3] : (v->low + v->high) / 2;
	} else if (!strcmp(word, "sine") && n == 3) {
		v->kind = VALUE_SINE;
		v->low = d[0];
		v->high = d[1];
		v->step = d[2];
	} else if ((!strcmp(word, "ramp") || !strcmp(word, "counter")) && n == 2) {
		v->kind = *word == 'r' ? VALUE_RAMP : VALUE_COUNTER;
		v->real = d[0];
		v->step = d[1];
	} else {
		return 0;
	}
	return 1;
}

void parse_value(struct value *v, char *const *words, int n)
{
	memset(v, 0, sizeof *v);
	size_t len = 1;
	for (int i = 0; i < n; i++) len += strlen(words[i]) + 1;
	v->text = calloc(1, len);
	for (int i = 0; i < n; i++) {
		if (i) strcat(v->text, " ");
		strcat(v->text, words[i]);
	}
	if (n == 0) return;
	uint64_t code;
	if (n == 2 && !strcmp(words[0], "error") && parse_whole(words[1], &code)) {
		v->kind = VALUE_ERROR;
		v->code = (int)code;
	} else if (n == 1 && !strcmp(words[0], "unset")) {
		v->kind = VALUE_NONE;
	} else if (n == 1 && number_word(words[0], &v->number, &v->real)) {
		v->kind = VALUE_NUMBER;
	} else if (!parse_moving(v, words[0], words + 1, n - 1)) {
		v->kind = VALUE_TEXT;
	}
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 1469598103934665603u;
	for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

struct value *table_find(struct table *t, const char *key)
{
	for (struct entry *e = t->buckets[hash_text(key) % TABLE_BUCKETS]; e; e = e->next)
		if (!strcmp(e->key, key)) return &e->value;
	return NULL;
}

void table_put(struct table *t, const char *key, struct value v)
{
	struct value *place = table_find(t, key);
	if (!place) {
		struct entry **bucket = &t->buckets[hash_text(key) % TABLE_BUCKETS];
		struct entry *e = calloc(1, sizeof *e + strlen(key) + 1);
		strcpy(e->key, key);
		e->next = *bucket;
		*bucket = e;
		place = &e->value;
	}
	*place = v;
	place->seed = hash_text(key) ^ mix(t->seed);
}

void table_set(struct table *t, const char *key, char *const *words, int n)
{
	struct value v;
	parse_value(&v, words, n);
	table_put(t, key, v);
}

void table_clear(struct table *t)
{
	unsigned seed = t->seed;
	memset(t, 0, sizeof *t);
	t->seed = seed;
}

/* step_of answers how often a moving value has moved: by reads, or by the clock. */
static uint64_t step_of(struct value *v)
{
	struct value *clock = table_find(&now->global, "clock");
	if (clock && clock->kind == VALUE_NUMBER && clock->number > 0)
		return (uint64_t)(os_now_us() - now->loaded_us) / 1000 / clock->number;
	return v->reads++;
}

static double walk(struct value *v)
{
	/* The sum of n steps, reflected at the bounds; v->real and v->number hold where it is. */
	uint64_t target = step_of(v);
	if (target > v->number + 100000) v->number = target - 100000;
	while (v->number < target) {
		v->number++;
		double r = (double)(mix(v->seed + v->number) >> 11) / 9007199254740992.0;
		double next = v->real + (2 * r - 1) * v->step;
		if (next > v->high) next = 2 * v->high - next;
		if (next < v->low) next = 2 * v->low - next;
		if (next > v->high) next = v->high;
		v->real = next;
	}
	return v->real;
}

nvmlReturn_t read_double(struct table *t, const char *key, double *out)
{
	struct value *v = table_find(t, key);
	if (!v) return NVML_ERROR_NOT_SUPPORTED;
	switch (v->kind) {
	case VALUE_ERROR:
		return (nvmlReturn_t)v->code;
	case VALUE_NUMBER:
		*out = v->real;
		return NVML_SUCCESS;
	case VALUE_WALK:
		*out = walk(v);
		return NVML_SUCCESS;
	case VALUE_SINE:
		*out = v->low + (v->high - v->low) *
		                        (0.5 - 0.5 * cos(6.283185307179586 * (double)step_of(v) / v->step));
		return NVML_SUCCESS;
	case VALUE_LIST:
		*out = v->list[step_of(v) % (uint64_t)v->list_len];
		return NVML_SUCCESS;
	case VALUE_RAMP:
		*out = v->real + v->step * (double)step_of(v);
		return NVML_SUCCESS;
	case VALUE_COUNTER:
		*out = v->real + v->step * (double)(os_now_us() - now->loaded_us) / 1e6;
		return NVML_SUCCESS;
	case VALUE_TEXT:
		return NVML_ERROR_UNKNOWN;
	case VALUE_NONE:
		break;
	}
	return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t read_u64(struct table *t, const char *key, unsigned long long *out)
{
	double d = 0;
	struct value *v = table_find(t, key);
	if (v && v->kind == VALUE_NUMBER) {
		*out = v->number;
		return NVML_SUCCESS;
	}
	TRY(read_double(t, key, &d));
	*out = d < 0 ? (unsigned long long)llround(d) : (unsigned long long)(d + 0.5);
	return NVML_SUCCESS;
}

nvmlReturn_t read_u32(struct table *t, const char *key, unsigned *out)
{
	unsigned long long wide;
	TRY(read_u64(t, key, &wide));
	*out = (unsigned)wide;
	return NVML_SUCCESS;
}

nvmlReturn_t copy_text(const char *text, char *out, unsigned size)
{
	if (strlen(text) + 1 > size) return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(out, text, strlen(text) + 1);
	return NVML_SUCCESS;
}

nvmlReturn_t read_text(struct table *t, const char *key, char *out, unsigned size)
{
	struct value *v = table_find(t, key);
	if (!v || v->kind == VALUE_NONE) return NVML_ERROR_NOT_SUPPORTED;
	if (v->kind == VALUE_ERROR) return (nvmlReturn_t)v->code;
	return copy_text(v->text, out, size);
}

uint64_t get_u64(struct table *t, const char *key, uint64_t fallback)
{
	unsigned long long n;
	return read_u64(t, key, &n) == NVML_SUCCESS ? n : fallback;
}

static char *key_buffer(void)
{
	static char ring[8][64];
	static unsigned next;
	return ring[next++ % 8];
}

const char *key_of(const char *a, unsigned n)
{
	char *key = key_buffer();
	snprintf(key, 64, "%s.%u", a, n);
	return key;
}

const char *key_of2(const char *a, unsigned n, const char *b)
{
	char *key = key_buffer();
	snprintf(key, 64, "%s.%u.%s", a, n, b);
	return key;
}
