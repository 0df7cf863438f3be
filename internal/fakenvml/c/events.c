/* Event sets: what the scenario scripts arrives in sets that registered for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { MAX_SEEN = 256 };

struct event_set {
	struct event_set *next;
	int64_t created_us;
	uint64_t mask[MAX_GPUS];
	uint64_t seen[MAX_SEEN]; /* ids of delivered events */
	unsigned seen_len;
	int waiting;
	uint64_t serial; /* of the scenario that was seen last, */
	int64_t news_us; /* and when */
};

/* A scenario that has just changed may soon do so again. Later a waiter looks seldom:
   it would take more of the processor than the program that is measured. */
enum { LOOK_US = 100000, SELDOM_US = 1000000, NEWS_US = 5000000 };

static struct event_set *sets;

void events_forget(void)
{
	for (struct event_set *s = sets; s; s = s->next)
		violation("nvmlShutdown", "event set %p was not freed", (void *)s);
	while (sets) {
		struct event_set *s = sets;
		sets = s->next;
		free(s);
	}
}

static struct event_set *known(nvmlEventSet_t set)
{
	for (struct event_set *s = sets; s; s = s->next)
		if ((void *)s == (void *)set) return s;
	return NULL;
}

API(nvmlEventSetCreate)(nvmlEventSet_t *set)
{
	ENTER();
	NEED(set);
	struct event_set *s = calloc(1, sizeof *s);
	s->created_us = os_now_us();
	s->next = sets;
	sets = s;
	*set = (nvmlEventSet_t)(void *)s;
	return NVML_SUCCESS;
}

API(nvmlEventSetFree)(nvmlEventSet_t set)
{
	ENTER();
	for (struct event_set **p = &sets; *p; p = &(*p)->next) {
		if ((void *)*p != (void *)set) continue;
		struct event_set *s = *p;
		if (s->waiting) violation(__func__, "set %p is being waited for", (void *)s);
		*p = s->next;
		free(s);
		return NVML_SUCCESS;
	}
	violation(__func__, "unknown set %p", (void *)set);
	return NVML_ERROR_INVALID_ARGUMENT;
}

/* Events exist on Linux only: elsewhere the mask is empty and nothing registers. */
static uint64_t supported(struct target *t)
{
#ifdef _WIN32
	(void)t;
	return 0;
#else
	return get_u64(t->parent, "events", 0);
#endif
}

API(nvmlDeviceGetSupportedEventTypes)(nvmlDevice_t device, unsigned long long *types)
{
	ENTER_DEVICE(device);
	NEED(types);
	*types = supported(&t);
	return NVML_SUCCESS;
}

API(nvmlDeviceRegisterEvents)(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	ENTER_DEVICE(device);
	struct event_set *s = known(set);
	if (!s) return NVML_ERROR_INVALID_ARGUMENT;
	uint64_t can = supported(&t);
	if (!can || (types & ~can)) return NVML_ERROR_NOT_SUPPORTED;
	s->mask[t.index] |= types;
	return NVML_SUCCESS;
}

static int was_seen(struct event_set *s, uint64_t id)
{
	for (unsigned i = 0; i < s->seen_len; i++)
		if (s->seen[i] == id) return 1;
	return 0;
}

/* due answers the next event of a set, or NULL, and then lowers *until to when the
   next one is due that is known of. */
static struct event *due(struct event_set *s, int64_t *until)
{
	int64_t clock = os_now_us();
	for (unsigned i = 0; i < now->events_len; i++) {
		struct event *e = &now->events[i];
		if (e->gpu >= now->gpus || !(s->mask[e->gpu] & e->type) || was_seen(s, e->id)) continue;
		int64_t at = s->created_us + (int64_t)e->at_ms * 1000;
		if (clock >= at) return e;
		if (at < *until) *until = at;
	}
	return NULL;
}

/* wait_event blocks without the lock until an event is due or time is out. */
static nvmlReturn_t wait_event(struct call *c, nvmlEventSet_t set, unsigned timeout_ms,
                               struct event *out)
{
	int64_t end = os_now_us() + (int64_t)timeout_ms * 1000;
	struct event_set *s = known(set);
	if (!s) {
		violation("nvmlEventSetWait", "unknown set %p", (void *)set);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	s->waiting++;
	for (;;) {
		int64_t clock = os_now_us();
		if (s->serial != now->serial) {
			s->serial = now->serial;
			s->news_us = clock;
		}
		int64_t until = clock + (clock - s->news_us < NEWS_US ? LOOK_US : SELDOM_US);
		if (end < until) until = end;
		struct event *e = due(s, &until);
		if (e) {
			*out = *e;
			if (s->seen_len < MAX_SEEN) s->seen[s->seen_len++] = e->id;
			s->waiting--;
			return NVML_SUCCESS;
		}
		if (os_now_us() >= end) {
			s->waiting--;
			return NVML_ERROR_TIMEOUT;
		}
		call_unlock(c);
		os_sleep_ms((unsigned)((until - clock) / 1000) + 1);
		call_lock(c);
		scenario_refresh(0);
		s = known(set);
		if (init_count == 0) return NVML_ERROR_UNINITIALIZED;
		if (!s) return NVML_ERROR_INVALID_ARGUMENT;
	}
}

API(nvmlEventSetWait_v2)(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms)
{
	struct event e;
	ENTER();
	NEED(data);
	TRY(wait_event(&call_, set, timeout_ms, &e));
	memset(data, 0, sizeof *data);
	data->device = handle_of(e.gpu, NO_INSTANCE);
	data->eventType = e.type;
	data->eventData = e.data;
	data->gpuInstanceId = e.gi;
	data->computeInstanceId = e.ci;
	return NVML_SUCCESS;
}

API(nvmlEventSetWait)(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms)
{
	struct event e;
	ENTER();
	NEED(data);
	TRY(wait_event(&call_, set, timeout_ms, &e));
	/* 24 bytes: the instance ids came with the second form. */
	data->device = handle_of(e.gpu, NO_INSTANCE);
	data->eventType = e.type;
	data->eventData = e.data;
	return NVML_SUCCESS;
}

API(nvmlEventSetWait_v3)(nvmlEventSet_t set, nvmlEventSetWait_v3_t *params)
{
	struct event e;
	ENTER();
	NEED(params);
	unsigned timeout = params->timeoutMs;
	TRY(wait_event(&call_, set, timeout, &e));
	memset(params, 0, sizeof *params);
	params->timeoutMs = timeout;
	TRY(read_text(&now->gpu[e.gpu].table, "uuid", params->uuid, sizeof params->uuid));
	params->eventType = e.type;
	params->eventData = e.data;
	params->gpuInstanceId = e.gi;
	params->computeInstanceId = e.ci;
	params->timestampUsec = (unsigned long long)os_wall_us();
	return NVML_SUCCESS;
}
