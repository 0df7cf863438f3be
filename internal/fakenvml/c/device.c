/* Identity and the plain readings of a device. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* ---- identity ---- */

#define API_TEXT(name, key)                                                     \
	API(name)(nvmlDevice_t device, char *out, unsigned size)                \
	{                                                                       \
		ENTER_DEVICE(device);                                           \
		NEED(out);                                                      \
		return read_text(t.table, key, out, size);                      \
	}

#define API_PARENT_TEXT(name, key)                                              \
	API(name)(nvmlDevice_t device, char *out, unsigned size)                \
	{                                                                       \
		ENTER_DEVICE(device);                                           \
		NEED(out);                                                      \
		return read_text(t.parent, key, out, size);                     \
	}

API_TEXT(nvmlDeviceGetName, "name")
API_TEXT(nvmlDeviceGetUUID, "uuid")
API_PARENT_TEXT(nvmlDeviceGetSerial, "serial")
API_PARENT_TEXT(nvmlDeviceGetVbiosVersion, "vbios")
API_PARENT_TEXT(nvmlDeviceGetBoardPartNumber, "partnumber")
API_PARENT_TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
API_U32(nvmlDeviceGetMinorNumber, "minor")
API_U32(nvmlDeviceGetModuleId, "moduleid")
API_U32(nvmlDeviceGetBoardId, "boardid")
API_U32(nvmlDeviceGetMultiGpuBoard, "multigpu")
API_U32(nvmlDeviceGetNumGpuCores, "cores")
API_U32(nvmlDeviceGetMemoryBusWidth, "buswidth")
API_U32(nvmlDeviceGetNumaNodeId, "numa")
API_U32(nvmlDeviceGetIrqNum, "irq")
API_U32(nvmlDeviceGetPowerSource, "power.source")

API(nvmlDeviceGetIndex)(nvmlDevice_t device, unsigned *index)
{
	ENTER_DEVICE(device);
	NEED(index);
	*index = t.mig == NO_INSTANCE ? t.index : (unsigned)t.mig;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetBrand)(nvmlDevice_t device, nvmlBrandType_t *brand)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(brand);
	TRY(read_u32(t.parent, "brand", &n));
	*brand = (nvmlBrandType_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetArchitecture)(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(arch);
	TRY(read_u32(t.parent, "arch", &n));
	*arch = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetCudaComputeCapability)(nvmlDevice_t device, int *major, int *minor)
{
	double n;
	ENTER_DEVICE(device);
	NEED(major);
	NEED(minor);
	TRY(read_double(t.parent, "capability", &n));
	*major = (int)(n + 0.001);
	*minor = (int)((n - *major) * 10 + 0.5);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGspFirmwareVersion)(nvmlDevice_t device, char *version)
{
	ENTER_DEVICE(device);
	NEED(version);
	return read_text(t.parent, "gsp.version", version, 64);
}

API(nvmlDeviceGetGspFirmwareMode)(nvmlDevice_t device, unsigned *on, unsigned *by_default)
{
	ENTER_DEVICE(device);
	NEED(on);
	NEED(by_default);
	TRY(read_u32(t.parent, "gsp.mode", on));
	*by_default = *on;
	return NVML_SUCCESS;
}

/* ---- PCI: 68 bytes since 410.104, 52 before, 36 in the first form ---- */

API(nvmlDeviceGetPciInfo_v3)(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	ENTER_DEVICE(device);
	NEED(pci);
	pci_fill(t.parent, pci);
	return NVML_SUCCESS;
}

static nvmlReturn_t pci_short(struct table *table, nvmlPciInfo_t *pci, size_t size)
{
	nvmlPciInfo_t full;
	pci_fill(table, &full);
	/* Behind pciSubSystemId the older struct has four reserved words. */
	memset(full.busId, 0, sizeof full.busId);
	memcpy(pci, &full, size);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetPciInfo_v2)(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	ENTER_DEVICE(device);
	NEED(pci);
	return pci_short(t.parent, pci, 52);
}

API(nvmlDeviceGetPciInfo)(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	ENTER_DEVICE(device);
	NEED(pci);
	return pci_short(t.parent, pci, 36);
}

API(nvmlDeviceGetPciInfoExt)(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci)
{
	nvmlPciInfo_t full;
	ENTER_DEVICE(device);
	NEED_VERSION(pci, nvmlPciInfoExt_v1);
	pci_fill(t.parent, &full);
	pci->domain = full.domain;
	pci->bus = full.bus;
	pci->device = full.device;
	pci->pciDeviceId = full.pciDeviceId;
	pci->pciSubSystemId = full.pciSubSystemId;
	pci->baseClass = 3;
	pci->subClass = (unsigned)get_u64(t.parent, "pci.subclass", 2);
	memcpy(pci->busId, full.busId, sizeof pci->busId);
	return NVML_SUCCESS;
}

/* ---- memory ---- */

API(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t *memory)
{
	unsigned long long total, used;
	ENTER_DEVICE(device);
	NEED(memory);
	TRY(read_u64(t.table, "memory.total", &total));
	TRY(read_u64(t.table, "memory.used", &used));
	/* Since 510 the first form counts the reserve as used. */
	if (driver_since(510, 0)) used += get_u64(t.table, "memory.reserved", 0);
	if (used > total) used = total;
	memory->total = total;
	memory->used = used;
	memory->free = total - used;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	unsigned long long total, used;
	ENTER_DEVICE(device);
	NEED_VERSION(memory, nvmlMemory_v2);
	TRY(read_u64(t.table, "memory.total", &total));
	TRY(read_u64(t.table, "memory.used", &used));
	unsigned long long reserved = get_u64(t.table, "memory.reserved", 0);
	if (reserved > total) reserved = total;
	if (used > total - reserved) used = total - reserved;
	memory->total = total;
	memory->reserved = reserved;
	memory->used = used;
	memory->free = total - reserved - used;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetBAR1MemoryInfo)(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
	unsigned long long total;
	ENTER_DEVICE(device);
	NEED(memory);
	TRY(read_u64(t.table, "bar1.total", &total));
	unsigned long long used = get_u64(t.table, "bar1.used", 0);
	if (used > total) used = total;
	memory->bar1Total = total;
	memory->bar1Used = used;
	memory->bar1Free = total - used;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetConfComputeMemSizeInfo)(nvmlDevice_t device, nvmlConfComputeMemSizeInfo_t *info)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(info);
	TRY(read_u64(t.table, "cc.protected", &n));
	info->protectedMemSizeKib = n;
	info->unprotectedMemSizeKib = get_u64(t.table, "cc.unprotected", 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetConfComputeProtectedMemoryUsage)(nvmlDevice_t device, nvmlMemory_t *memory)
{
	unsigned long long total;
	ENTER_DEVICE(device);
	NEED(memory);
	TRY(read_u64(t.table, "cc.protected", &total));
	memory->total = total << 10;
	memory->used = get_u64(t.table, "cc.protected.used", 0);
	memory->free = memory->total - memory->used;
	return NVML_SUCCESS;
}

/* ---- load ---- */

/* With MIG the parent and its instances have no load. */
static int mig_on(struct target *t) { return get_u64(t->parent, "mig.current", 0) == 1; }

API(nvmlDeviceGetUtilizationRates)(nvmlDevice_t device, nvmlUtilization_t *u)
{
	unsigned gpu, memory;
	ENTER_DEVICE(device);
	NEED(u);
	if (mig_on(&t)) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u32(t.table, "util", &gpu));
	memory = gpu / 2;
	if (table_find(t.table, "util.memory")) TRY(read_u32(t.table, "util.memory", &memory));
	u->gpu = gpu;
	u->memory = memory;
	return NVML_SUCCESS;
}

#define API_ENGINE(name, key)                                                   \
	API(name)(nvmlDevice_t device, unsigned *percent, unsigned *period_us)  \
	{                                                                       \
		ENTER_DEVICE(device);                                           \
		NEED(percent);                                                  \
		NEED(period_us);                                                \
		if (mig_on(&t)) return NVML_ERROR_NOT_SUPPORTED;                \
		TRY(read_u32(t.table, key, percent));                           \
		*period_us = (unsigned)get_u64(t.table, "engine.period", 167000); \
		return NVML_SUCCESS;                                            \
	}

API_ENGINE(nvmlDeviceGetEncoderUtilization, "encoder")
API_ENGINE(nvmlDeviceGetDecoderUtilization, "decoder")
API_ENGINE(nvmlDeviceGetJpgUtilization, "jpg")
API_ENGINE(nvmlDeviceGetOfaUtilization, "ofa")

API(nvmlDeviceGetEncoderCapacity)(nvmlDevice_t device, nvmlEncoderType_t type, unsigned *capacity)
{
	ENTER_DEVICE(device);
	NEED(capacity);
	if ((unsigned)type > 2) return NVML_ERROR_INVALID_ARGUMENT;
	return read_u32(t.table, "encoder.capacity", capacity);
}

API(nvmlDeviceGetEncoderStats)(nvmlDevice_t device, unsigned *sessions, unsigned *fps,
                               unsigned *latency_us)
{
	ENTER_DEVICE(device);
	NEED(sessions);
	NEED(fps);
	NEED(latency_us);
	if (mig_on(&t)) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u32(t.table, "encoder.sessions", sessions));
	*fps = (unsigned)get_u64(t.table, "encoder.fps", *sessions ? 60 : 0);
	*latency_us = (unsigned)get_u64(t.table, "encoder.latency", *sessions ? 8000 : 0);
	return NVML_SUCCESS;
}

/* Unlike process lists, a count of 0 answers SUCCESS with the number. */
API(nvmlDeviceGetEncoderSessions)(nvmlDevice_t device, unsigned *count,
                                  nvmlEncoderSessionInfo_t *infos)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(count);
	TRY(read_u32(t.table, "encoder.sessions", &n));
	unsigned room = *count;
	*count = n;
	if (room == 0) return NVML_SUCCESS;
	if (room < n) return NVML_ERROR_INSUFFICIENT_SIZE;
	NEED(infos);
	for (unsigned i = 0; i < n; i++) {
		memset(&infos[i], 0, sizeof infos[i]);
		infos[i].sessionId = i + 1;
		infos[i].pid = (unsigned)get_u64(t.table, key_of("encoder.pid", i), 4000 + i);
		infos[i].hResolution = 1920;
		infos[i].vResolution = 1080;
		infos[i].averageFps = (unsigned)get_u64(t.table, "encoder.fps", 60);
		infos[i].averageLatency = (unsigned)get_u64(t.table, "encoder.latency", 8000);
	}
	return NVML_SUCCESS;
}

API(nvmlDeviceGetFBCStats)(nvmlDevice_t device, nvmlFBCStats_t *stats)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(stats);
	TRY(read_u32(t.table, "fbc.sessions", &n));
	stats->sessionsCount = n;
	stats->averageFPS = (unsigned)get_u64(t.table, "fbc.fps", n ? 60 : 0);
	stats->averageLatency = (unsigned)get_u64(t.table, "fbc.latency", n ? 5000 : 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetFBCSessions)(nvmlDevice_t device, unsigned *count, nvmlFBCSessionInfo_t *infos)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(count);
	TRY(read_u32(t.table, "fbc.sessions", &n));
	unsigned room = *count;
	*count = n;
	if (room == 0) return NVML_SUCCESS;
	if (room < n) return NVML_ERROR_INSUFFICIENT_SIZE;
	NEED(infos);
	for (unsigned i = 0; i < n; i++) {
		memset(&infos[i], 0, sizeof infos[i]);
		infos[i].sessionId = i + 1;
		infos[i].pid = (unsigned)get_u64(t.table, key_of("fbc.pid", i), 4100 + i);
	}
	return NVML_SUCCESS;
}

/* samples.TYPE gives the newest value; the buffer holds samples.count of them. */
API(nvmlDeviceGetSamples)(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long last_seen,
                          nvmlValueType_t *value_type, unsigned *count, nvmlSample_t *samples)
{
	ENTER_DEVICE(device);
	NEED(value_type);
	NEED(count);
	if (mig_on(&t)) return NVML_ERROR_NOT_SUPPORTED;
	const char *key = key_of("samples", (unsigned)type);
	if (!table_find(t.table, key)) return NVML_ERROR_NOT_SUPPORTED;
	unsigned n = (unsigned)get_u64(t.table, "samples.count", 100);
	*value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
	if (!samples) {
		*count = n;
		return NVML_SUCCESS;
	}
	if (*count == 0) return NVML_ERROR_INVALID_ARGUMENT;
	unsigned long long end = (unsigned long long)os_wall_us();
	unsigned written = 0;
	for (unsigned i = 0; i < n && written < *count; i++) {
		unsigned long long stamp = end - (unsigned long long)(n - i) * 20000;
		if (stamp <= last_seen) continue;
		unsigned value;
		TRY(read_u32(t.table, key, &value));
		memset(&samples[written], 0, sizeof samples[written]);
		samples[written].timeStamp = stamp;
		samples[written].sampleValue.uiVal = value;
		written++;
	}
	*count = written;
	return written ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* ---- lists of clocks: clocks.memory and clocks.graphics, "2619,1593" ---- */

/* Where no list is written, GPUs with application clocks have their maximum alone. */
static nvmlReturn_t clock_list(struct table *t, const char *key, const char *maximum, unsigned *count,
                               unsigned *mhz)
{
	NEED(count);
	struct value *v = table_find(t, key);
	if (!v && table_find(t, "clockapp.memory")) v = table_find(t, maximum);
	if (!v || v->kind == VALUE_NONE) return NVML_ERROR_NOT_SUPPORTED;
	if (v->kind == VALUE_ERROR) return (nvmlReturn_t)v->code;
	unsigned n = 0, room = *count;
	for (const char *s = v->text; s; s = strchr(s, ',')) {
		s += *s == ',';
		if (mhz && n < room) mhz[n] = (unsigned)strtoul(s, NULL, 10);
		n++;
	}
	*count = n;
	return mhz && n <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

API(nvmlDeviceGetSupportedMemoryClocks)(nvmlDevice_t device, unsigned *count, unsigned *mhz)
{
	ENTER_DEVICE(device);
	return clock_list(t.parent, "clocks.memory", "clockmax.memory", count, mhz);
}

API(nvmlDeviceGetSupportedGraphicsClocks)(nvmlDevice_t device, unsigned memory, unsigned *count,
                                          unsigned *mhz)
{
	ENTER_DEVICE(device);
	(void)memory;
	return clock_list(t.parent, "clocks.graphics", "clockmax.graphics", count, mhz);
}

/* ---- heat and fans ---- */

API(nvmlDeviceGetTemperature)(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned *celsius)
{
	ENTER_DEVICE(device);
	NEED(celsius);
	if ((unsigned)sensor != 0) return NVML_ERROR_INVALID_ARGUMENT;
	return read_u32(t.parent, "temperature", celsius);
}

API(nvmlDeviceGetTemperatureV)(nvmlDevice_t device, nvmlTemperature_v1_t *temperature)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED_VERSION(temperature, nvmlTemperature_v1);
	if ((unsigned)temperature->sensorType != 0) return NVML_ERROR_INVALID_ARGUMENT;
	TRY(read_u32(t.parent, "temperature", &n));
	temperature->temperature = (int)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetTemperatureThreshold)(nvmlDevice_t device, nvmlTemperatureThresholds_t which,
                                       unsigned *celsius)
{
	ENTER_DEVICE(device);
	NEED(celsius);
	if ((unsigned)which > 7) return NVML_ERROR_INVALID_ARGUMENT;
	return read_u32(t.parent, key_of("threshold", (unsigned)which), celsius);
}

API(nvmlDeviceGetMarginTemperature)(nvmlDevice_t device, nvmlMarginTemperature_v1_t *margin)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED_VERSION(margin, nvmlMarginTemperature_v1);
	TRY(read_u32(t.parent, "margin", &n));
	margin->marginTemperature = (int)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetThermalSettings)(nvmlDevice_t device, unsigned sensor,
                                  nvmlGpuThermalSettings_t *settings)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(settings);
	(void)sensor;
	TRY(read_u32(t.parent, "temperature", &n));
	memset(settings, 0, sizeof *settings);
	settings->count = 1;
	settings->sensor[0].controller = (nvmlThermalController_t)1;
	settings->sensor[0].defaultMaxTemp = 127;
	settings->sensor[0].currentTemp = (int)n;
	settings->sensor[0].target = (nvmlThermalTarget_t)1;
	return NVML_SUCCESS;
}

/* fans N gives their number, fan.I the speed of each; fan is that of the first. */
static nvmlReturn_t fan_speed(struct target *t, unsigned fan, unsigned *percent)
{
	unsigned count;
	TRY(read_u32(t->parent, "fans", &count));
	if (count == 0) return NVML_ERROR_NOT_SUPPORTED;
	if (fan >= count) return NVML_ERROR_INVALID_ARGUMENT;
	return read_u32(t->parent, key_of("fan", fan), percent);
}

API(nvmlDeviceGetFanSpeed)(nvmlDevice_t device, unsigned *percent)
{
	ENTER_DEVICE(device);
	NEED(percent);
	NEED_GPU();
	return fan_speed(&t, 0, percent);
}

API(nvmlDeviceGetFanSpeed_v2)(nvmlDevice_t device, unsigned fan, unsigned *percent)
{
	ENTER_DEVICE(device);
	NEED(percent);
	NEED_GPU();
	return fan_speed(&t, fan, percent);
}

API(nvmlDeviceGetNumFans)(nvmlDevice_t device, unsigned *count)
{
	ENTER_DEVICE(device);
	NEED(count);
	NEED_GPU();
	return read_u32(t.parent, "fans", count);
}

API(nvmlDeviceGetFanSpeedRPM)(nvmlDevice_t device, nvmlFanSpeedInfo_v1_t *info)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED_VERSION(info, nvmlFanSpeedInfo_v1);
	TRY(fan_speed(&t, info->fan, &n));
	if (table_find(t.parent, key_of("fan.rpm", info->fan)))
		TRY(read_u32(t.parent, key_of("fan.rpm", info->fan), &n));
	else
		n *= 30;
	info->speed = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetTargetFanSpeed)(nvmlDevice_t device, unsigned fan, unsigned *percent)
{
	ENTER_DEVICE(device);
	NEED(percent);
	TRY(fan_speed(&t, fan, percent));
	if (table_find(t.parent, key_of("fan.target", fan)))
		return read_u32(t.parent, key_of("fan.target", fan), percent);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetMinMaxFanSpeed)(nvmlDevice_t device, unsigned *low, unsigned *high)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(low);
	NEED(high);
	TRY(fan_speed(&t, 0, &n));
	*low = (unsigned)get_u64(t.parent, "fan.min", 30);
	*high = (unsigned)get_u64(t.parent, "fan.max", 100);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetFanControlPolicy_v2)(nvmlDevice_t device, unsigned fan, nvmlFanControlPolicy_t *policy)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(policy);
	TRY(fan_speed(&t, fan, &n));
	*policy = (nvmlFanControlPolicy_t)get_u64(t.parent, key_of("fan.policy", fan), 0);
	return NVML_SUCCESS;
}

/* ---- power ---- */

API(nvmlDeviceGetPowerUsage)(nvmlDevice_t device, unsigned *milliwatts)
{
	ENTER_DEVICE(device);
	NEED(milliwatts);
	NEED_GPU();
	return read_u32(t.parent, "power", milliwatts);
}

API(nvmlDeviceGetEnforcedPowerLimit)(nvmlDevice_t device, unsigned *milliwatts)
{
	ENTER_DEVICE(device);
	NEED(milliwatts);
	if (table_find(t.parent, "power.enforced"))
		return read_u32(t.parent, "power.enforced", milliwatts);
	return read_u32(t.parent, "power.limit", milliwatts);
}

API_U32(nvmlDeviceGetPowerManagementLimit, "power.limit")
API_U32(nvmlDeviceGetPowerManagementDefaultLimit, "power.default")

API(nvmlDeviceGetPowerManagementLimitConstraints)(nvmlDevice_t device, unsigned *low, unsigned *high)
{
	ENTER_DEVICE(device);
	NEED(low);
	NEED(high);
	TRY(read_u32(t.parent, "power.min", low));
	return read_u32(t.parent, "power.max", high);
}

API(nvmlDeviceGetPowerManagementMode)(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(mode);
	TRY(read_u32(t.parent, "power.limit", &n));
	*mode = NVML_FEATURE_ENABLED;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetTotalEnergyConsumption)(nvmlDevice_t device, unsigned long long *millijoule)
{
	ENTER_DEVICE(device);
	NEED(millijoule);
	NEED_GPU();
	return read_u64(t.parent, "energy", millijoule);
}

/* ---- clocks ---- */

static const char *const clock_names[] = {"graphics", "sm", "memory", "video"};

static nvmlReturn_t clock_read(struct target *t, const char *prefix, unsigned type, unsigned *mhz)
{
	char key[32];
	NEED(mhz);
	if (type > 3) return NVML_ERROR_INVALID_ARGUMENT;
	strcpy(key, prefix);
	strcat(key, clock_names[type]);
	/* The SM domain runs with graphics where nothing else is written. */
	if (type == 1 && !table_find(t->parent, key)) {
		strcpy(key, prefix);
		strcat(key, clock_names[0]);
	}
	return read_u32(t->parent, key, mhz);
}

API(nvmlDeviceGetClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	ENTER_DEVICE(device);
	return clock_read(&t, "clock.", (unsigned)type, mhz);
}

API(nvmlDeviceGetMaxClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	ENTER_DEVICE(device);
	return clock_read(&t, "clockmax.", (unsigned)type, mhz);
}

API(nvmlDeviceGetApplicationsClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	ENTER_DEVICE(device);
	return clock_read(&t, "clockapp.", (unsigned)type, mhz);
}

API(nvmlDeviceGetDefaultApplicationsClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	ENTER_DEVICE(device);
	return clock_read(&t, "clockapp.", (unsigned)type, mhz);
}

API(nvmlDeviceGetMaxCustomerBoostClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
	ENTER_DEVICE(device);
	return clock_read(&t, "clockboost.", (unsigned)type, mhz);
}

API(nvmlDeviceGetClock)(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned *mhz)
{
	static const char *const prefix[] = {"clock.", "clockapp.", "clockapp.", "clockboost."};
	ENTER_DEVICE(device);
	if ((unsigned)id > 3) return NVML_ERROR_INVALID_ARGUMENT;
	return clock_read(&t, prefix[id], (unsigned)type, mhz);
}

#define API_U64(name, key)                                                      \
	API(name)(nvmlDevice_t device, unsigned long long *out)                 \
	{                                                                       \
		ENTER_DEVICE(device);                                           \
		NEED(out);                                                      \
		return read_u64(t.parent, key, out);                            \
	}

API_U64(nvmlDeviceGetCurrentClocksEventReasons, "reasons")
API_U64(nvmlDeviceGetCurrentClocksThrottleReasons, "reasons")
API_U64(nvmlDeviceGetSupportedClocksEventReasons, "reasons.supported")
API_U64(nvmlDeviceGetSupportedClocksThrottleReasons, "reasons.supported")

API(nvmlDeviceGetPerformanceState)(nvmlDevice_t device, nvmlPstates_t *state)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(state);
	TRY(read_u32(t.parent, "pstate", &n));
	*state = (nvmlPstates_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetPowerState)(nvmlDevice_t device, nvmlPstates_t *state)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(state);
	TRY(read_u32(t.parent, "pstate", &n));
	*state = (nvmlPstates_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetDynamicPstatesInfo)(nvmlDevice_t device, nvmlGpuDynamicPstatesInfo_t *info)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(info);
	if (mig_on(&t)) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u32(t.parent, "util", &n));
	memset(info, 0, sizeof *info);
	info->flags = 1;
	info->utilization[0].bIsPresent = 1;
	info->utilization[0].percentage = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetViolationStatus)(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                  nvmlViolationTime_t *time)
{
	unsigned long long ns;
	ENTER_DEVICE(device);
	NEED(time);
	/* Fields 74 on give the same times; policies 6 to 9 do not exist. */
	unsigned n = (unsigned)policy;
	if (n > 5 && n != 10 && n != 11) return NVML_ERROR_INVALID_ARGUMENT;
	TRY(read_u64(t.parent, key_of("policy", n), &ns));
	time->referenceTime = (unsigned long long)os_wall_us();
	time->violationTime = ns;
	return NVML_SUCCESS;
}

/* ---- PCIe ---- */

API_U32(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")
API_U32(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
API_U32(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.maxgen")
API_U32(nvmlDeviceGetMaxPcieLinkWidth, "pcie.maxwidth")
API_U32(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.gpumaxgen")
API_U32(nvmlDeviceGetPcieSpeed, "pcie.speed")
API_U32(nvmlDeviceGetPcieLinkMaxSpeed, "pcie.maxspeed")
API_U32(nvmlDeviceGetPcieReplayCounter, "pcie.replay")

API(nvmlDeviceGetPcieThroughput)(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned *kbps)
{
	ENTER_DEVICE(device);
	NEED(kbps);
	NEED_GPU();
	if ((unsigned)counter > 1) return NVML_ERROR_INVALID_ARGUMENT;
	unsigned wait = (unsigned)get_u64(t.parent, "pcie.wait", 20);
	nvmlReturn_t r = read_u32(t.parent, counter ? "pcie.rx" : "pcie.tx", kbps);
	/* A real driver measures for that long. */
	if (r == NVML_SUCCESS && wait) {
		call_unlock(&call_);
		os_sleep_ms(wait);
	}
	return r;
}

/* ---- modes ---- */

#define API_STATE(name, key)                                                    \
	API(name)(nvmlDevice_t device, nvmlEnableState_t *state)                \
	{                                                                       \
		unsigned n;                                                     \
		ENTER_DEVICE(device);                                           \
		NEED(state);                                                    \
		TRY(read_u32(t.parent, key, &n));                               \
		*state = (nvmlEnableState_t)n;                                  \
		return NVML_SUCCESS;                                            \
	}

API_STATE(nvmlDeviceGetDisplayMode, "display.mode")
API_STATE(nvmlDeviceGetDisplayActive, "display.active")
API_STATE(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
API_STATE(nvmlDeviceGetAccountingMode, "accounting")
API_STATE(nvmlDeviceGetDefaultEccMode, "ecc.default")

API(nvmlDeviceGetPersistenceMode)(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(mode);
#ifdef _WIN32
	return NVML_ERROR_NOT_SUPPORTED;
#endif
	TRY(read_u32(t.parent, "persistence", &n));
	*mode = (nvmlEnableState_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetComputeMode)(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(mode);
	TRY(read_u32(t.parent, "computemode", &n));
	*mode = (nvmlComputeMode_t)n;
	return NVML_SUCCESS;
}

static nvmlReturn_t driver_model(struct target *t, nvmlDriverModel_t *current,
                                 nvmlDriverModel_t *pending)
{
	unsigned n = 1;
	NEED(current);
#ifdef _WIN32
	if (!table_find(t->parent, "drivermodel")) {
		*current = (nvmlDriverModel_t)n;
		if (pending) *pending = *current;
		return NVML_SUCCESS;
	}
#endif
	TRY(read_u32(t->parent, "drivermodel", &n));
	*current = (nvmlDriverModel_t)n;
	if (pending) *pending = *current;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetDriverModel)(nvmlDevice_t device, nvmlDriverModel_t *current,
                              nvmlDriverModel_t *pending)
{
	ENTER_DEVICE(device);
	/* The first form does not know MCDM. */
	TRY(driver_model(&t, current, pending));
	return *current > 1 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

API(nvmlDeviceGetDriverModel_v2)(nvmlDevice_t device, nvmlDriverModel_t *current,
                                 nvmlDriverModel_t *pending)
{
	ENTER_DEVICE(device);
	return driver_model(&t, current, pending);
}

API(nvmlDeviceGetGpuOperationMode)(nvmlDevice_t device, nvmlGpuOperationMode_t *current,
                                   nvmlGpuOperationMode_t *pending)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(current);
	NEED(pending);
	TRY(read_u32(t.parent, "operationmode", &n));
	*current = *pending = (nvmlGpuOperationMode_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetVirtualizationMode)(nvmlDevice_t device, nvmlGpuVirtualizationMode_t *mode)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(mode);
	TRY(read_u32(t.parent, "vgpu.mode", &n));
	*mode = (nvmlGpuVirtualizationMode_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetHostVgpuMode)(nvmlDevice_t device, nvmlHostVgpuMode_t *mode)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(mode);
	TRY(read_u32(t.parent, "vgpu.host", &n));
	*mode = (nvmlHostVgpuMode_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetAddressingMode)(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t *mode)
{
	ENTER_DEVICE(device);
	NEED_VERSION(mode, nvmlDeviceAddressingMode_v1);
	return read_u32(t.parent, "addressing", &mode->value);
}

API(nvmlDeviceGetBusType)(nvmlDevice_t device, nvmlBusType_t *type)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(type);
	TRY(read_u32(t.parent, "bustype", &n));
	*type = (nvmlBusType_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetCapabilities)(nvmlDevice_t device, nvmlDeviceCapabilities_v1_t *capabilities)
{
	ENTER_DEVICE(device);
	NEED_VERSION(capabilities, nvmlDeviceCapabilities_v1);
	return read_u32(t.parent, "capabilities", &capabilities->capMask);
}

API(nvmlDeviceGetPdi)(nvmlDevice_t device, nvmlPdi_v1_t *pdi)
{
	ENTER_DEVICE(device);
	NEED_VERSION(pdi, nvmlPdi_v1);
	unsigned long long n;
	TRY(read_u64(t.parent, "pdi", &n));
	pdi->value = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetHostname_v1)(nvmlDevice_t device, nvmlHostname_v1_t *hostname)
{
	ENTER_DEVICE(device);
	NEED(hostname);
	return read_text(t.parent, "hostname", hostname->value, sizeof hostname->value);
}

API(nvmlDeviceGetC2cModeInfoV)(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *info)
{
	ENTER_DEVICE(device);
	NEED(info);
	return read_u32(t.parent, "c2c", &info->isC2cEnabled);
}
