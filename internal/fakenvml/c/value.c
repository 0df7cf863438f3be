/* Values that stand still or move, and the tables that hold them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

int64_t parse_int(const char *s, int64_t fallback)
{
	char *end;
	int64_t n = strtoll(s, &end, 0);
	return end == s || *end ? fallback : n;
}

/* parse_uint knows "none" for all ones and the suffixes KiB, MiB, GiB. */
uint64_t parse_uint(const char *s)
{
	char *end;
	if (!strcmp(s, "none")) return UINT64_MAX;
	if (s[0] == '-') return (uint64_t)strtoll(s, &end, 0);
	uint64_t n = strtoull(s, &end, 0);
	if (!strcmp(end, "KiB")) n <<= 10;
	if (!strcmp(end, "MiB")) n <<= 20;
	if (!strcmp(end, "GiB")) n <<= 30;
	return n;
}

/* number_word accepts what parse_uint and strtod read in full. */
static int number_word(const char *s, uint64_t *u, double *d)
{
	char *end;
	*u = parse_uint(s);
	*d = (double)(int64_t)*u;
	if (s[0] != '-') *d = (double)*u;
	if (!strcmp(s, "none")) return 1;
	strtoull(s, &end, 0);
	if (end == s) return 0;
	if (!*end || !strcmp(end, "KiB") || !strcmp(end, "MiB") || !strcmp(end, "GiB")) return 1;
	*d = strtod(s, &end);
	if (end == s || *end) return 0;
	*u = *d < 0 ? (uint64_t)(int64_t)*d : (uint64_t)*d;
	return 1;
}

static double real_word(char *const *words, int n, int i, double fallback)
{
	return i < n ? strtod(words[i], NULL) : fallback;
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
	if (!strcmp(words[0], "error")) {
		v->kind = VALUE_ERROR;
		v->code = n > 1 ? (int)parse_int(words[1], 999) : 999;
	} else if (!strcmp(words[0], "unset")) {
		v->kind = VALUE_NONE;
	} else if (!strcmp(words[0], "walk") && n > 1) {
		v->kind = VALUE_WALK;
		v->step = real_word(words, n, 1, 1);
		v->low = real_word(words, n, 2, 0);
		v->high = real_word(words, n, 3, 100);
		v->real = real_word(words, n, 4, (v->low + v->high) / 2);
	} else if (!strcmp(words[0], "sine") && n > 3) {
		v->kind = VALUE_SINE;
		v->low = real_word(words, n, 1, 0);
		v->high = real_word(words, n, 2, 100);
		v->step = real_word(words, n, 3, 60);
	} else if (!strcmp(words[0], "list") && n > 1) {
		v->kind = VALUE_LIST;
		v->list_len = n - 1;
		v->list = calloc((size_t)n, sizeof *v->list);
		for (int i = 1; i < n; i++) v->list[i - 1] = strtod(words[i], NULL);
	} else if (!strcmp(words[0], "ramp") && n > 2) {
		v->kind = VALUE_RAMP;
		v->real = real_word(words, n, 1, 0);
		v->step = real_word(words, n, 2, 1);
	} else if (!strcmp(words[0], "counter") && n > 2) {
		v->kind = VALUE_COUNTER;
		v->real = real_word(words, n, 1, 0);
		v->step = real_word(words, n, 2, 1);
	} else if (n == 1 && number_word(words[0], &v->number, &v->real)) {
		v->kind = VALUE_NUMBER;
	} else {
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

void table_set(struct table *t, const char *key, char *const *words, int n)
{
	struct value *v = table_find(t, key);
	if (!v) {
		struct entry **bucket = &t->buckets[hash_text(key) % TABLE_BUCKETS];
		struct entry *e = calloc(1, sizeof *e + strlen(key) + 1);
		strcpy(e->key, key);
		e->next = *bucket;
		*bucket = e;
		v = &e->value;
	}
	parse_value(v, words, n);
	v->seed = hash_text(key) ^ mix(t->seed);
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
