/* ECC, retired pages, remapped rows, repair. */
#include <stdio.h>
#include <string.h>

#include "fake.h"

API(nvmlDeviceGetEccMode)(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	unsigned n;
	ENTER_DEVICE(device);
	NEED(current);
	NEED(pending);
	TRY(read_u32(t.parent, "ecc.mode", &n));
	*current = (nvmlEnableState_t)n;
	*pending = (nvmlEnableState_t)get_u64(t.parent, "ecc.pending", n);
	return NVML_SUCCESS;
}

/* ecc.{corrected,uncorrected}.{volatile,aggregate}, all 0 where ECC is on and nothing is written. */
static const char *ecc_key(unsigned type, unsigned counter)
{
	static const char *const keys[2][2] = {
		{"ecc.corrected.volatile", "ecc.corrected.aggregate"},
		{"ecc.uncorrected.volatile", "ecc.uncorrected.aggregate"},
	};
	return keys[type][counter];
}

static nvmlReturn_t ecc_count(struct target *t, unsigned type, unsigned counter,
                              unsigned long long *count)
{
	unsigned on;
	if (type > 1 || counter > 1) return NVML_ERROR_INVALID_ARGUMENT;
	TRY(read_u32(t->parent, "ecc.mode", &on));
	if (!on) return NVML_ERROR_NOT_SUPPORTED;
	const char *key = ecc_key(type, counter);
	*count = 0;
	return table_find(t->parent, key) ? read_u64(t->parent, key, count) : NVML_SUCCESS;
}

API(nvmlDeviceGetTotalEccErrors)(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                 nvmlEccCounterType_t counter, unsigned long long *count)
{
	ENTER_DEVICE(device);
	NEED(count);
	return ecc_count(&t, (unsigned)type, (unsigned)counter, count);
}

/* Of the locations device memory (2) has the counts of the scenario, SRAM (7) those of ecc.sram. */
API(nvmlDeviceGetMemoryErrorCounter)(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                     nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
                                     unsigned long long *count)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(count);
	if ((unsigned)location > 7) return NVML_ERROR_INVALID_ARGUMENT;
	TRY(ecc_count(&t, (unsigned)type, (unsigned)counter, &n));
	if (location == 7)
		n = get_u64(t.parent, type ? "ecc.sram.uncorrected" : "ecc.sram.corrected", 0);
	else if (location != 2)
		n = 0;
	*count = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetDetailedEccErrors)(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                    nvmlEccCounterType_t counter, nvmlEccErrorCounts_t *counts)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(counts);
	TRY(ecc_count(&t, (unsigned)type, (unsigned)counter, &n));
	memset(counts, 0, sizeof *counts);
	counts->deviceMemory = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetSramEccErrorStatus)(nvmlDevice_t device, nvmlEccSramErrorStatus_v1_t *status)
{
	unsigned on;
	ENTER_DEVICE(device);
	NEED_VERSION(status, nvmlEccSramErrorStatus_v1);
	if (get_u64(t.parent, "arch", 0) < 7) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u32(t.parent, "ecc.mode", &on));
	struct value *v = table_find(t.parent, "ecc.sram");
	if (v && v->kind == VALUE_ERROR) return (nvmlReturn_t)v->code;
	memset(status, 0, sizeof *status);
	status->version = nvmlEccSramErrorStatus_v1;
	status->aggregateUncParity = get_u64(t.parent, "ecc.sram.parity", 0);
	status->aggregateUncSecDed = get_u64(t.parent, "ecc.sram.uncorrected", 0);
	status->aggregateCor = get_u64(t.parent, "ecc.sram.corrected", 0);
	status->volatileUncSecDed = status->aggregateUncSecDed;
	status->volatileCor = status->aggregateCor;
	status->aggregateUncBucketL2 = status->aggregateUncSecDed;
	status->bThresholdExceeded = (unsigned)get_u64(t.parent, "ecc.sram.threshold", 0);
	return NVML_SUCCESS;
}

/* ---- retired pages: page CAUSE ADDRESS STAMP ---- */

static nvmlReturn_t retired(struct target *t, unsigned cause, unsigned *count,
                            unsigned long long *addresses, unsigned long long *stamps)
{
	unsigned on, n = 0, room;
	NEED(count);
	if (cause > 1) return NVML_ERROR_INVALID_ARGUMENT;
	TRY(read_u32(t->parent, "retired", &on));
	for (unsigned i = 0; i < t->parent->pages_len; i++) n += t->parent->pages[i].cause == cause;
	room = *count;
	*count = n;
	if (room == 0 || !addresses) return n ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
	if (room < n) return NVML_ERROR_INSUFFICIENT_SIZE;
	n = 0;
	for (unsigned i = 0; i < t->parent->pages_len; i++) {
		struct page *p = &t->parent->pages[i];
		if (p->cause != cause) continue;
		addresses[n] = p->address;
		if (stamps) stamps[n] = p->stamp;
		n++;
	}
	return NVML_SUCCESS;
}

API(nvmlDeviceGetRetiredPages)(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned *count,
                               unsigned long long *addresses)
{
	ENTER_DEVICE(device);
	return retired(&t, (unsigned)cause, count, addresses, NULL);
}

API(nvmlDeviceGetRetiredPages_v2)(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                  unsigned *count, unsigned long long *addresses,
                                  unsigned long long *stamps)
{
	ENTER_DEVICE(device);
	return retired(&t, (unsigned)cause, count, addresses, stamps);
}

/* ---- remapped rows: remap 1, remap.corrected and so on ---- */

static nvmlReturn_t remap_on(struct target *t)
{
	unsigned on;
	TRY(read_u32(t->parent, "remap", &on));
	if (!on || t->mig != NO_INSTANCE) return NVML_ERROR_NOT_SUPPORTED;
	/* Not while MIG instances exist. */
	for (unsigned m = 0; m < MAX_MIG; m++)
		if (now->gpu[t->index].mig[m].present) return NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetRemappedRows)(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                               unsigned *pending, unsigned *failed)
{
	ENTER_DEVICE(device);
	NEED(corrected);
	NEED(uncorrected);
	NEED(pending);
	NEED(failed);
	TRY(remap_on(&t));
	*corrected = (unsigned)get_u64(t.parent, "remap.corrected", 0);
	*uncorrected = (unsigned)get_u64(t.parent, "remap.uncorrected", 0);
	*pending = (unsigned)get_u64(t.parent, "remap.pending", 0);
	*failed = (unsigned)get_u64(t.parent, "remap.failed", 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetRemappedRows_v2)(nvmlDevice_t device, nvmlRemappedRowsInfo_v2_t *info)
{
	ENTER_DEVICE(device);
	NEED(info);
	TRY(remap_on(&t));
	info->corrActiveRemaps = (unsigned)get_u64(t.parent, "remap.corrected", 0);
	info->corrInactiveRemaps = (unsigned)get_u64(t.parent, "remap.corrected.inactive", 0);
	info->uncActiveRemaps = (unsigned)get_u64(t.parent, "remap.uncorrected", 0);
	info->uncInactiveRemaps = (unsigned)get_u64(t.parent, "remap.uncorrected.inactive", 0);
	info->bPending = (unsigned)get_u64(t.parent, "remap.pending", 0);
	info->bFailureOccurred = (unsigned)get_u64(t.parent, "remap.failed", 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetRowRemapperHistogram)(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *values)
{
	ENTER_DEVICE(device);
	NEED(values);
	TRY(remap_on(&t));
	values->max = (unsigned)get_u64(t.parent, "remap.bank.max", 640);
	values->high = (unsigned)get_u64(t.parent, "remap.bank.high", 0);
	values->partial = (unsigned)get_u64(t.parent, "remap.bank.partial", 0);
	values->low = (unsigned)get_u64(t.parent, "remap.bank.low", 0);
	values->none = (unsigned)get_u64(t.parent, "remap.bank.none", 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetRepairStatus)(nvmlDevice_t device, nvmlRepairStatus_v1_t *status)
{
	ENTER_DEVICE(device);
	NEED_VERSION(status, nvmlRepairStatus_v1);
	TRY(read_u32(t.parent, "repair.channel", &status->bChannelRepairPending));
	status->bTpcRepairPending = (unsigned)get_u64(t.parent, "repair.tpc", 0);
	return NVML_SUCCESS;
}
