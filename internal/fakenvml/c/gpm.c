/* GPM: samples, metrics, and the limits of each generation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { MIN_WINDOW_US = 100000 };

struct sample {
	struct sample *next;
	unsigned gpu;
	int mig;
	int64_t taken_us; /* 0: never */
};

static struct sample *samples;
static unsigned char sampled[MAX_GPUS]; /* 1: the first sample is being taken, 2: taken */

void gpm_forget(void)
{
	memset(sampled, 0, sizeof sampled);
	for (struct sample *s = samples; s; s = s->next)
		violation("nvmlShutdown", "GPM sample %p was not freed", (void *)s);
	while (samples) {
		struct sample *s = samples;
		samples = s->next;
		free(s);
	}
}

static struct sample *known(nvmlGpmSample_t sample)
{
	for (struct sample *s = samples; s; s = s->next)
		if ((void *)s == (void *)sample) return s;
	return NULL;
}

API(nvmlGpmQueryDeviceSupport)(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
	ENTER_DEVICE(device);
	NEED_VERSION(support, 1);
	if (t.mig != NO_INSTANCE && !driver_since(595, 45)) return NVML_ERROR_INVALID_ARGUMENT;
	unsigned on = 0;
	struct value *v = table_find(t.parent, "gpm");
	if (v) TRY(read_u32(t.parent, "gpm", &on));
	support->isSupportedDevice = on && get_u64(t.parent, "arch", 0) >= 9;
	return NVML_SUCCESS;
}

API(nvmlGpmQueryIfStreamingEnabled)(nvmlDevice_t device, unsigned *state)
{
	ENTER_DEVICE(device);
	NEED(state);
	if (!get_u64(t.parent, "gpm", 0)) return NVML_ERROR_NOT_SUPPORTED;
	*state = (unsigned)get_u64(t.parent, "gpm.streaming", 0);
	return NVML_SUCCESS;
}

API(nvmlGpmSampleAlloc)(nvmlGpmSample_t *sample)
{
	ENTER();
	NEED(sample);
	struct sample *s = calloc(1, sizeof *s);
	s->next = samples;
	samples = s;
	*sample = (nvmlGpmSample_t)(void *)s;
	return NVML_SUCCESS;
}

API(nvmlGpmSampleFree)(nvmlGpmSample_t sample)
{
	ENTER();
	NEED(sample);
	for (struct sample **p = &samples; *p; p = &(*p)->next)
		if ((void *)*p == (void *)sample) {
			struct sample *s = *p;
			*p = s->next;
			free(s);
			return NVML_SUCCESS;
		}
	violation(__func__, "unknown or freed sample %p", (void *)sample);
	return NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t take(const char *name, struct call *c, unsigned gpu, int mig, nvmlGpmSample_t sample)
{
	struct gpu *g = &now->gpu[gpu];
	if (!get_u64(&g->table, "gpm", 0) || get_u64(&g->table, "arch", 0) < 9)
		return NVML_ERROR_NOT_SUPPORTED;
	if (!known(sample)) {
		violation(name, "unknown or freed sample %p", (void *)sample);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (sampled[gpu] < 2) {
		/* First samples of two devices at once crash real drivers. */
		for (unsigned i = 0; i < MAX_GPUS; i++) {
			if (sampled[i] != 1) continue;
			violation(name, "first sample of GPU %u while that of GPU %u is taken", gpu, i);
			if (get_u64(&now->global, "gpm.crash", 0)) abort();
		}
		unsigned wait = (unsigned)get_u64(&now->global, "gpm.first", 0);
		sampled[gpu] = 1;
		if (wait) {
			call_unlock(c);
			os_sleep_ms(wait);
			call_lock(c);
		}
		sampled[gpu] = 2;
	}
	struct sample *s = known(sample);
	if (!s) return NVML_ERROR_INVALID_ARGUMENT;
	s->gpu = gpu;
	s->mig = mig;
	s->taken_us = os_now_us();
	return NVML_SUCCESS;
}

API(nvmlGpmSampleGet)(nvmlDevice_t device, nvmlGpmSample_t sample)
{
	ENTER_DEVICE(device);
	NEED(sample);
	if (t.mig != NO_INSTANCE && !driver_since(595, 45)) return NVML_ERROR_INVALID_ARGUMENT;
	return take(__func__, &call_, t.index, t.mig, sample);
}

API(nvmlGpmMigSampleGet)(nvmlDevice_t device, unsigned gi, nvmlGpmSample_t sample)
{
	ENTER_DEVICE(device);
	NEED(sample);
	NEED_GPU();
	for (int m = 0; m < MAX_MIG; m++) {
		struct table *table = &now->gpu[t.index].mig[m];
		if (table->present && get_u64(table, "gi", UINT32_MAX) == gi)
			return take(__func__, &call_, t.index, m, sample);
	}
	return NVML_ERROR_NOT_FOUND;
}

/* names of a few metrics; others have none, which callers must bear. */
static void describe(nvmlGpmMetric_t *m)
{
	static char *const sm[] = {(char *)"SM_UTIL", (char *)"SM utilization", (char *)"%"};
	int named = m->metricId == 2;
	m->metricInfo.shortName = named ? sm[0] : NULL;
	m->metricInfo.longName = named ? sm[1] : NULL;
	m->metricInfo.unit = named ? sm[2] : NULL;
}

static void measure(struct table *table, nvmlGpmMetric_t *m, unsigned max)
{
	double value = 0;
	if (m->metricId == 0 || m->metricId > max)
		m->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
	else
		m->nvmlReturn = read_double(table, key_of("gpm", m->metricId), &value);
	if (m->nvmlReturn == NVML_SUCCESS) m->value = value;
	describe(m);
}

/*
 * gpm.max N replaces the limit of the generation. gpm.batch wrong gives all
 * entries of one call the value of the first, gpm.batch partial fills only the
 * first. gpm.overrun N writes N bytes behind the struct of the generation.
 */
API(nvmlGpmMetricsGet)(nvmlGpmMetricsGet_t *get)
{
	ENTER();
	NEED_VERSION(get, 1);
	unsigned max = (unsigned)get_u64(&now->global, "gpm.max", generation_gpm_max);
	if (get->numMetrics == 0 || get->numMetrics > max) {
		violation(__func__, "numMetrics %u with at most %u", get->numMetrics, max);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	struct sample *a = known(get->sample1), *b = known(get->sample2);
	if (!a || !b || !a->taken_us || !b->taken_us) {
		violation(__func__, "a sample is unknown or empty");
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (a->gpu != b->gpu || a->mig != b->mig || a == b) {
		violation(__func__, "samples of different devices, or the same twice");
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	if (b->taken_us - a->taken_us < MIN_WINDOW_US)
		violation(__func__, "window of %lld us", (long long)(b->taken_us - a->taken_us));
	if (a->gpu >= now->gpus) return NVML_ERROR_GPU_IS_LOST;
	struct gpu *g = &now->gpu[a->gpu];
	struct table *table = a->mig == NO_INSTANCE ? &g->table : &g->mig[a->mig];
	struct value *batch = table_find(&now->global, "gpm.batch");
	int wrong = batch && !strcmp(batch->text, "wrong");
	int partial = batch && !strcmp(batch->text, "partial");
	for (unsigned i = 0; i < get->numMetrics; i++) {
		if (i && partial) break;
		measure(table, &get->metrics[i], max);
		if (i && wrong) get->metrics[i].value = get->metrics[0].value;
	}
	uint64_t over = get_u64(&now->global, "gpm.overrun", 0);
	if (over) memset((unsigned char *)get + 24 + (size_t)max * 40, 0xee, (size_t)over);
	return NVML_SUCCESS;
}
