/* Initialisation, versions, the system, and how devices are found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

int init_count;
unsigned init_flags;

/* global_text reads a key of the whole library, with what the generation says as default. */
static nvmlReturn_t global_text(const char *key, const char *fallback, char *out, unsigned size)
{
	NEED(out);
	if (table_find(&now->global, key)) return read_text(&now->global, key, out, size);
	return copy_text(fallback, out, size);
}

static nvmlReturn_t initialise(unsigned flags)
{
	scenario_refresh(1);
	unsigned code = (unsigned)get_u64(&now->global, "init", 0);
	if (code) return (nvmlReturn_t)code;
	init_flags = flags;
	init_count++;
	return NVML_SUCCESS;
}

API(nvmlInit_v2)(void)
{
	ENTER_ANY();
	return initialise(0);
}

API(nvmlInit)(void)
{
	ENTER_ANY();
	/* The first form attaches every GPU: one bad GPU fails it. */
	for (unsigned i = 0; i < now->gpus; i++) {
		unsigned code;
		if (read_u32(&now->gpu[i].table, "open", &code) == NVML_SUCCESS && code)
			return (nvmlReturn_t)code;
	}
	return initialise(0);
}

API(nvmlInitWithFlags)(unsigned flags)
{
	ENTER_ANY();
	if (flags & ~7u) return NVML_ERROR_INVALID_ARGUMENT;
	return initialise(flags);
}

API(nvmlShutdown)(void)
{
	ENTER_ANY();
	if (init_count == 0) {
		/* Real libraries answer 0 here once an init has failed. */
		return get_u64(&now->global, "init", 0) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
	}
	if (--init_count == 0) {
		handles_forget();
		events_forget();
		gpm_forget();
	}
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	static const char *const texts[] = {
		"Success", "Uninitialized", "Invalid Argument", "Not Supported",
		"Insufficient Permissions", "Already Initialized", "Not Found", "Insufficient Size",
		"Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
		"NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM",
		"GPU is lost", "GPU requires reset", "GPU access blocked by the operating system",
		"Driver/library version mismatch", "In use by another client", "Insufficient Memory",
		"No data", "vGPU ECC not supported", "Insufficient Resources",
		"Frequency not supported", "Argument version mismatch", "Deprecated", "Not Ready",
		"No GPU found", "Invalid state", "Reset type not supported",
	};
	unsigned known = driver_since(580, 0)   ? 31
	                 : driver_since(550, 0) ? 30
	                 : driver_since(545, 0) ? 29
	                 : driver_since(535, 0) ? 28
	                 : driver_since(525, 0) ? 27
	                 : driver_since(520, 0) ? 26
	                 : driver_since(470, 0) ? 25
	                 : driver_since(450, 0) ? 24
	                                        : 23;
	return (unsigned)result < known ? texts[result] : "Unknown Error";
}

API(nvmlSystemGetDriverVersion)(char *version, unsigned length)
{
	ENTER();
	return global_text("driver", generation_driver, version, length);
}

API(nvmlSystemGetNVMLVersion)(char *version, unsigned length)
{
	/* Since 535 it needs no initialisation. */
	CALL_(call_begin(&call_, __func__, NO_DEVICE, driver_since(535, 0) ? ANY_STATE : 0, &result_));
	return global_text("nvml", generation_nvml, version, length);
}

static nvmlReturn_t cuda_version(int *version)
{
	unsigned n = (unsigned)generation_cuda;
	NEED(version);
	if (table_find(&now->global, "cuda")) TRY(read_u32(&now->global, "cuda", &n));
	*version = (int)n;
	return NVML_SUCCESS;
}

API(nvmlSystemGetCudaDriverVersion)(int *version)
{
	ENTER();
	return cuda_version(version);
}

API(nvmlSystemGetCudaDriverVersion_v2)(int *version)
{
	ENTER();
	return cuda_version(version);
}

API(nvmlSystemGetDriverBranch)(nvmlSystemDriverBranchInfo_v1_t *info, unsigned length)
{
	char fallback[32];
	ENTER();
	NEED_VERSION(info, nvmlSystemDriverBranchInfo_v1);
	if (length > sizeof info->branch) length = sizeof info->branch;
	snprintf(fallback, sizeof fallback, "r%d_%02d", generation_major, generation_minor);
	return global_text("branch", fallback, info->branch, length);
}

API(nvmlSystemGetProcessName)(unsigned pid, char *name, unsigned length)
{
	ENTER();
	NEED(name);
	if (!length) return NVML_ERROR_INVALID_ARGUMENT;
	struct value *v = table_find(&now->global, key_of("processname", pid));
	if (!v) return NVML_ERROR_NOT_FOUND;
	if (v->kind == VALUE_ERROR) return (nvmlReturn_t)v->code;
	snprintf(name, length, "%s", v->text);
	return NVML_SUCCESS;
}

API(nvmlSystemGetHicVersion)(unsigned *count, nvmlHwbcEntry_t *entries)
{
	ENTER();
	NEED(count);
	(void)entries;
	*count = 0;
	return NVML_SUCCESS;
}

API(nvmlUnitGetCount)(unsigned *count)
{
	ENTER();
	NEED(count);
	*count = 0;
	return NVML_SUCCESS;
}

/* ---- devices ---- */

static int forbidden(unsigned i)
{
	return get_u64(&now->gpu[i].table, "open", 0) == NVML_ERROR_NO_PERMISSION;
}

API(nvmlDeviceGetCount_v2)(unsigned *count)
{
	ENTER();
	NEED(count);
	*count = init_flags & 1 ? 0 : now->gpus;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetCount)(unsigned *count)
{
	ENTER();
	NEED(count);
	*count = 0;
	/* The first form does not count what the caller may not open. */
	for (unsigned i = 0; i < now->gpus; i++) *count += !forbidden(i);
	return NVML_SUCCESS;
}

/* open_gpu is taking a handle: it initialises the GPU, and that may fail. */
static nvmlReturn_t open_gpu(unsigned index, nvmlDevice_t *device)
{
	unsigned code = (unsigned)get_u64(&now->gpu[index].table, "open", 0);
	if (code) return (nvmlReturn_t)code;
	*device = handle_of(index, NO_INSTANCE);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetHandleByIndex_v2)(unsigned index, nvmlDevice_t *device)
{
	ENTER_GPU((int)index);
	NEED(device);
	if (index >= now->gpus) return NVML_ERROR_INVALID_ARGUMENT;
	return open_gpu(index, device);
}

API(nvmlDeviceGetHandleByIndex)(unsigned index, nvmlDevice_t *device)
{
	ENTER_GPU((int)index);
	NEED(device);
	for (unsigned i = 0; i < now->gpus; i++) {
		if (forbidden(i)) continue;
		if (index-- == 0) return open_gpu(i, device);
	}
	return NVML_ERROR_INVALID_ARGUMENT;
}

/* find_by answers the GPU whose key has that text, or -1. Lock not held. */
static int find_by(const char *key, const char *text)
{
	int found = -1;
	os_lock(&state_mutex);
	scenario_refresh(0);
	for (unsigned i = 0; text && found < 0 && i < now->gpus; i++) {
		struct value *v = table_find(&now->gpu[i].table, key);
		if (v && !strcmp(v->text, text)) found = (int)i;
	}
	os_unlock(&state_mutex);
	return found;
}

API(nvmlDeviceGetHandleByUUID)(const char *uuid, nvmlDevice_t *device)
{
	ENTER_GPU(find_by("uuid", uuid));
	NEED(uuid);
	NEED(device);
	for (unsigned i = 0; i < now->gpus; i++) {
		struct value *v = table_find(&now->gpu[i].table, "uuid");
		if (v && !strcmp(v->text, uuid)) return open_gpu(i, device);
		for (unsigned m = 0; m < MAX_MIG; m++) {
			struct table *t = &now->gpu[i].mig[m];
			v = t->present ? table_find(t, "uuid") : NULL;
			if (!v || strcmp(v->text, uuid)) continue;
			*device = handle_of(i, (int)m);
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

API(nvmlDeviceGetHandleByUUIDV)(const nvmlUUID_v1_t *uuid, nvmlDevice_t *device)
{
	ENTER_GPU(uuid ? find_by("uuid", uuid->value.str) : NO_DEVICE);
	NEED_VERSION(uuid, nvmlUUID_v1);
	NEED(device);
	if (uuid->type != 1) return NVML_ERROR_NOT_SUPPORTED;
	for (unsigned i = 0; i < now->gpus; i++) {
		struct value *v = table_find(&now->gpu[i].table, "uuid");
		if (v && !strncmp(v->text, uuid->value.str, sizeof uuid->value.str))
			return open_gpu(i, device);
	}
	return NVML_ERROR_NOT_FOUND;
}

API(nvmlDeviceGetHandleBySerial)(const char *serial, nvmlDevice_t *device)
{
	int found = find_by("serial", serial);
	ENTER_GPU(found);
	NEED(serial);
	NEED(device);
	return found < 0 ? NVML_ERROR_NOT_FOUND : open_gpu((unsigned)found, device);
}

/* find_by_bus takes "DDDD:BB:DD.0" with any number of domain digits, and "BB:DD.0". */
static int find_by_bus(const char *bus_id)
{
	unsigned domain, bus, device;
	int found = -1;
	if (!bus_id) return -1;
	if (sscanf(bus_id, "%x:%x:%x", &domain, &bus, &device) != 3) {
		domain = 0;
		if (sscanf(bus_id, "%x:%x", &bus, &device) != 2) return -1;
	}
	os_lock(&state_mutex);
	scenario_refresh(0);
	for (unsigned i = 0; i < now->gpus; i++) {
		unsigned d, b, v;
		pci_numbers(&now->gpu[i].table, &d, &b, &v);
		if (d == domain && b == bus && v == device) found = (int)i;
	}
	os_unlock(&state_mutex);
	return found;
}

API(nvmlDeviceGetHandleByPciBusId_v2)(const char *bus_id, nvmlDevice_t *device)
{
	int found = find_by_bus(bus_id);
	ENTER_GPU(found);
	NEED(bus_id);
	NEED(device);
	return found < 0 ? NVML_ERROR_NOT_FOUND : open_gpu((unsigned)found, device);
}

API(nvmlDeviceGetHandleByPciBusId)(const char *bus_id, nvmlDevice_t *device)
{
	int found = find_by_bus(bus_id);
	ENTER_GPU(found);
	NEED(bus_id);
	NEED(device);
	return found < 0 ? NVML_ERROR_NOT_FOUND : open_gpu((unsigned)found, device);
}

/* ---- excluded devices: excluded.N UUID BUSID ---- */

static nvmlReturn_t excluded_count(unsigned *count)
{
	NEED(count);
	*count = 0;
	while (table_find(&now->global, key_of("excluded", *count))) ++*count;
	return NVML_SUCCESS;
}

static nvmlReturn_t excluded_info(unsigned index, nvmlExcludedDeviceInfo_t *info)
{
	char uuid[80], bus_id[32];
	NEED(info);
	struct value *v = table_find(&now->global, key_of("excluded", index));
	if (!v || sscanf(v->text, "%79s %31s", uuid, bus_id) != 2)
		return NVML_ERROR_INVALID_ARGUMENT;
	struct table t;
	char *words[] = {bus_id};
	memset(&t, 0, sizeof t);
	table_set(&t, "busid", words, 1);
	pci_fill(&t, &info->pciInfo);
	return copy_text(uuid, info->uuid, sizeof info->uuid);
}

/* The exclusion queries work without initialisation. */
API(nvmlGetExcludedDeviceCount)(unsigned *count)
{
	ENTER_ANY();
	return excluded_count(count);
}

API(nvmlGetExcludedDeviceInfoByIndex)(unsigned index, nvmlExcludedDeviceInfo_t *info)
{
	ENTER_ANY();
	return excluded_info(index, info);
}

API(nvmlGetBlacklistDeviceCount)(unsigned *count)
{
	ENTER_ANY();
	return excluded_count(count);
}

API(nvmlGetBlacklistDeviceInfoByIndex)(unsigned index, nvmlExcludedDeviceInfo_t *info)
{
	ENTER_ANY();
	return excluded_info(index, info);
}

/* ---- confidential computing ---- */

API(nvmlSystemGetConfComputeState)(nvmlConfComputeSystemState_t *state)
{
	ENTER();
	NEED(state);
	unsigned n;
	TRY(read_u32(&now->global, "cc.state", &n));
	memset(state, 0, sizeof *state);
	state->ccFeature = n;
	state->environment = (unsigned)get_u64(&now->global, "cc.environment", n ? 2 : 0);
	state->devToolsMode = (unsigned)get_u64(&now->global, "cc.devtools", 0);
	return NVML_SUCCESS;
}

API(nvmlSystemGetConfComputeSettings)(nvmlSystemConfComputeSettings_v1_t *settings)
{
	ENTER();
	NEED_VERSION(settings, nvmlSystemConfComputeSettings_v1);
	TRY(read_u32(&now->global, "cc.state", &settings->ccFeature));
	settings->environment =
		(unsigned)get_u64(&now->global, "cc.environment", settings->ccFeature ? 2 : 0);
	settings->devToolsMode = (unsigned)get_u64(&now->global, "cc.devtools", 0);
	settings->multiGpuMode = (unsigned)get_u64(&now->global, "cc.multigpu", 0);
	return NVML_SUCCESS;
}
