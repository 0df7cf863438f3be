/* Process lists in all their layouts, load per process, accounting. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* ---- lists ---- */

/*
 * collect gathers what a list answers: that of the device, and on a MIG parent
 * those of its instances as well. The caller frees it.
 */
static struct process *collect(struct target *t, int kind, unsigned *len)
{
	unsigned n = t->table->processes[kind].len;
	struct gpu *g = &now->gpu[t->index];
	int parent_of_mig = t->mig == NO_INSTANCE;
	for (unsigned m = 0; parent_of_mig && m < MAX_MIG; m++)
		if (g->mig[m].present) n += g->mig[m].processes[kind].len;
	struct process *all = calloc(n + 1, sizeof *all);
	n = 0;
	for (int m = -1; m < (parent_of_mig ? MAX_MIG : 0); m++) {
		struct table *table = m < 0 ? t->table : &g->mig[m];
		if (m >= 0 && !table->present) continue;
		struct process_list *l = &table->processes[kind];
		int instance = m >= 0 ? m : t->mig;
		for (unsigned i = 0; i < l->len; i++) {
			struct process p = l->items[i];
			if (instance != NO_INSTANCE && p.gi == UINT32_MAX) {
				p.gi = (unsigned)get_u64(&g->mig[instance], "gi", UINT32_MAX);
				p.ci = (unsigned)get_u64(&g->mig[instance], "ci", UINT32_MAX);
			}
			all[n++] = p;
		}
	}
	*len = n;
	return all;
}

/* put writes one entry of 16, 24 or 32 bytes; holes stay as the caller left them. */
static void put(unsigned char *at, const struct process *p, unsigned size, int holes)
{
	unsigned char entry[32] = {0};
	memcpy(entry, &p->pid, 4);
	memcpy(entry + 8, &p->bytes, 8);
	memcpy(entry + 16, &p->gi, 4);
	memcpy(entry + 20, &p->ci, 4);
	memcpy(entry + 24, &p->protected_bytes, 8);
	if (!holes) {
		memcpy(at, entry, size);
		return;
	}
	memcpy(at, entry, 4);
	memcpy(at + 8, entry + 8, (size < 24 ? size : 24) - 8);
}

/*
 * list is all process queries. The options are those of misbehaving libraries:
 * process.clear 1 clears the whole array, process.holes 1 leaves padding and
 * the last eight of 32 bytes unwritten, process.garbage N spoils the first N
 * PIDs, process.overrun N writes N bytes behind the array, process.null success
 * answers a NULL array with SUCCESS, process.slack N asks for N entries more.
 */
static nvmlReturn_t list(const char *name, struct target *t, int kind, unsigned *count, void *infos,
                         unsigned size)
{
	NEED(count);
	struct value *error = table_find(t->table, key_of("processes", (unsigned)kind));
	if (error && error->kind == VALUE_ERROR) return (nvmlReturn_t)error->code;

	struct table *global = &now->global;
	unsigned room = *count, len;
	struct process *all = collect(t, kind, &len);
	unsigned wanted = len ? len + (unsigned)get_u64(global, "process.slack", 0) : 0;
	nvmlReturn_t result = NVML_SUCCESS;
	if (!infos && room) {
		violation(name, "NULL array with a count of %u", room);
		result = NVML_ERROR_INVALID_ARGUMENT;
	} else if (room > 1u << 22) {
		violation(name, "count of %u was never set", room);
		result = NVML_ERROR_INVALID_ARGUMENT;
	} else if ((uintptr_t)infos % 8) {
		violation(name, "array at %p is not aligned", infos);
		result = NVML_ERROR_INVALID_ARGUMENT;
	} else if (room < len) {
		*count = wanted;
		result = NVML_ERROR_INSUFFICIENT_SIZE;
		struct value *null = table_find(global, "process.null");
		if (!infos && null && !strcmp(null->text, "success")) result = NVML_SUCCESS;
	} else {
		int holes = get_u64(global, "process.holes", 0) != 0;
		uint64_t garbage = get_u64(global, "process.garbage", 0);
		if (get_u64(global, "process.clear", 0)) memset(infos, 0, (size_t)room * size);
		for (unsigned i = 0; i < len; i++) {
			struct process p = all[i];
			if (i < garbage) p.pid = 0xdead0000u + i;
			put((unsigned char *)infos + (size_t)i * size, &p, size, holes);
		}
		uint64_t over = get_u64(global, "process.overrun", 0);
		if (over && infos)
			memset((unsigned char *)infos + (size_t)room * size, 0xee, (size_t)over);
		*count = len;
	}
	free(all);
	return result;
}

#define API_LIST(name, type, kind, size)                                        \
	API(name)(nvmlDevice_t device, unsigned *count, type *infos)            \
	{                                                                       \
		ENTER_DEVICE(device);                                           \
		return list(__func__, &t, kind, count, infos, (size));          \
	}

/* process.stride.v1, .v2 and .v3 replace the entry size of the generation. */
#define STRIDE(version, natural) \
	((unsigned)get_u64(&now->global, "process.stride." version, (natural)))
#define STRIDE3 STRIDE("v3", generation_process_v3)

API_LIST(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, PROCESS_COMPUTE, STRIDE("v1", 16))
API_LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t, PROCESS_GRAPHICS, STRIDE("v1", 16))
API_LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t, PROCESS_MPS, STRIDE("v1", 16))
API_LIST(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, PROCESS_COMPUTE, STRIDE("v2", 24))
API_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t, PROCESS_GRAPHICS, STRIDE("v2", 24))
API_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, PROCESS_MPS, STRIDE("v2", 24))
API_LIST(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, PROCESS_COMPUTE, STRIDE3)
API_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t, PROCESS_GRAPHICS, STRIDE3)
API_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t, PROCESS_MPS, STRIDE3)

/* The detail list is for Hopper and later; mode 3 is all kinds. */
API(nvmlDeviceGetRunningProcessDetailList)(nvmlDevice_t device, nvmlProcessDetailList_v1_t *out)
{
	ENTER_DEVICE(device);
	NEED_VERSION(out, nvmlProcessDetailList_v1);
	if (get_u64(t.parent, "arch", 0) < 9) return NVML_ERROR_NOT_SUPPORTED;
	if (out->mode > 3) return NVML_ERROR_INVALID_ARGUMENT;
	unsigned total = 0, room = out->numProcArrayEntries;
	struct process *parts[PROCESS_KINDS] = {0};
	unsigned lens[PROCESS_KINDS] = {0};
	for (unsigned k = 0; k < PROCESS_KINDS; k++) {
		if (out->mode != 3 && out->mode != k) continue;
		parts[k] = collect(&t, (int)k, &lens[k]);
		total += lens[k];
	}
	out->numProcArrayEntries = total;
	nvmlReturn_t result = NVML_SUCCESS;
	if (room < total) {
		result = NVML_ERROR_INSUFFICIENT_SIZE;
	} else if (!out->procArray && total) {
		result = NVML_ERROR_INVALID_ARGUMENT;
	} else {
		unsigned char *at = (unsigned char *)out->procArray;
		for (unsigned k = 0; k < PROCESS_KINDS; k++)
			for (unsigned i = 0; i < lens[k]; i++, at += 32)
				put(at, &parts[k][i], 32, 0);
	}
	for (unsigned k = 0; k < PROCESS_KINDS; k++) free(parts[k]);
	return result;
}

/* ---- load per process ---- */

static uint64_t stamp_of(const struct usage *u, uint64_t end)
{
	return u->age_us < 0 ? u->stamp : end - (uint64_t)u->age_us;
}

/* The sizing call answers this, whatever runs. */
static unsigned usage_capacity(struct table *table)
{
	unsigned n = (unsigned)get_u64(&now->global, "usage.sizing", 100);
	return table->usage_len > n ? table->usage_len : n;
}

static nvmlReturn_t usage_check(struct target *t)
{
	struct value *v = table_find(t->table, "processload");
	if (v && v->kind == VALUE_ERROR) return (nvmlReturn_t)v->code;
	if (get_u64(t->parent, "mig.current", 0) == 1 || !v) return NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetProcessUtilization)(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
                                     unsigned *count, unsigned long long last_seen)
{
	ENTER_DEVICE(device);
	NEED(count);
	TRY(usage_check(&t));
	unsigned room = *count, capacity = usage_capacity(t.table);
	if (!samples || room < capacity) {
		*count = capacity;
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	uint64_t end = (uint64_t)os_wall_us();
	unsigned n = 0;
	for (unsigned i = 0; i < t.table->usage_len; i++) {
		struct usage *u = &t.table->usage[i];
		uint64_t stamp = stamp_of(u, end);
		if (stamp <= last_seen) continue;
		memset(&samples[n], 0, sizeof samples[n]);
		samples[n].pid = u->pid;
		samples[n].timeStamp = stamp;
		samples[n].smUtil = u->sm;
		samples[n].memUtil = u->mem;
		samples[n].encUtil = u->enc;
		samples[n].decUtil = u->dec;
		n++;
	}
	*count = n;
	return n ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

API(nvmlDeviceGetProcessesUtilizationInfo)(nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t *info)
{
	ENTER_DEVICE(device);
	NEED_VERSION(info, nvmlProcessesUtilizationInfo_v1);
	TRY(usage_check(&t));
	unsigned room = info->processSamplesCount, capacity = usage_capacity(t.table);
	if (!info->procUtilArray || room < capacity) {
		info->processSamplesCount = capacity;
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	uint64_t end = (uint64_t)os_wall_us();
	unsigned n = 0;
	for (unsigned i = 0; i < t.table->usage_len; i++) {
		struct usage *u = &t.table->usage[i];
		uint64_t stamp = stamp_of(u, end);
		if (stamp <= info->lastSeenTimeStamp) continue;
		nvmlProcessUtilizationInfo_v1_t *s = &info->procUtilArray[n++];
		memset(s, 0, sizeof *s);
		s->timeStamp = stamp;
		s->pid = u->pid;
		s->smUtil = u->sm;
		s->memUtil = u->mem;
		s->encUtil = u->enc;
		s->decUtil = u->dec;
		s->jpgUtil = u->jpg;
		s->ofaUtil = u->ofa;
	}
	info->processSamplesCount = n;
	return n ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* ---- accounting ---- */

static nvmlReturn_t accounting_on(struct target *t)
{
	unsigned on;
	TRY(read_u32(t->parent, "accounting", &on));
	return on ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

API(nvmlDeviceGetAccountingBufferSize)(nvmlDevice_t device, unsigned *size)
{
	ENTER_DEVICE(device);
	NEED(size);
	TRY(accounting_on(&t));
	*size = (unsigned)get_u64(t.parent, "accounting.buffer", 4000);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetAccountingPids)(nvmlDevice_t device, unsigned *count, unsigned *pids)
{
	ENTER_DEVICE(device);
	NEED(count);
	TRY(accounting_on(&t));
	unsigned room = *count, n = t.parent->accounting_len;
	*count = n;
	if (room < n) return NVML_ERROR_INSUFFICIENT_SIZE;
	if (n) NEED(pids);
	for (unsigned i = 0; i < n; i++) pids[i] = t.parent->accounting[i].pid;
	return NVML_SUCCESS;
}

static struct accounting *account_of(struct table *table, unsigned pid)
{
	/* Of a PID that came twice only the latest process is left. */
	for (unsigned i = table->accounting_len; i-- > 0;)
		if (table->accounting[i].pid == pid) return &table->accounting[i];
	return NULL;
}

API(nvmlDeviceGetAccountingStats)(nvmlDevice_t device, unsigned pid, nvmlAccountingStats_t *stats)
{
	ENTER_DEVICE(device);
	NEED(stats);
	TRY(accounting_on(&t));
	struct accounting *a = account_of(t.parent, pid);
	if (!a) return NVML_ERROR_NOT_FOUND;
	memset(stats, 0, sizeof *stats);
	stats->gpuUtilization = a->gpu;
	stats->memoryUtilization = a->mem;
	stats->maxMemoryUsage = a->max_bytes;
	stats->time = a->running ? 0 : a->time_ms;
	stats->startTime = a->start_us;
	stats->isRunning = a->running;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetAccountingStats_v2)(nvmlDevice_t device, nvmlAccountingStats_v2_t *stats)
{
	ENTER_DEVICE(device);
	NEED(stats);
	TRY(accounting_on(&t));
	struct accounting *a = account_of(t.parent, stats->pid);
	if (!a) return NVML_ERROR_NOT_FOUND;
	memset(stats, 0, sizeof *stats);
	stats->pid = a->pid;
	stats->isRunning = a->running;
	stats->gpuUtilization = a->gpu;
	stats->memoryUtilization = a->mem;
	stats->maxMemoryUsage = a->max_bytes;
	stats->sampleCount = 100;
	stats->sumGpuUtil = a->gpu * 100ull;
	stats->sumFbUtil = a->mem * 100ull;
	stats->time = a->running ? 0 : a->time_ms;
	stats->startTime = a->start_us;
	return NVML_SUCCESS;
}
