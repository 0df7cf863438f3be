/* NVLink, topology, affinity. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* nvlink N gives the number of links; nvlink.state and the like, or nvlink.I.state, the rest. */
static nvmlReturn_t link_check(struct target *t, unsigned link)
{
	unsigned links;
	if (t->mig != NO_INSTANCE) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u32(t->parent, "nvlink", &links));
	if (links == 0) return NVML_ERROR_NOT_SUPPORTED;
	return link < links ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static const char *link_key(struct table *t, unsigned link, const char *what)
{
	static char common[64];
	const char *own = key_of2("nvlink", link, what);
	if (table_find(t, own)) return own;
	strcpy(common, "nvlink.");
	strcat(common, what);
	return common;
}

static nvmlReturn_t link_u64(struct target *t, unsigned link, const char *what, uint64_t fallback,
                             unsigned long long *out)
{
	TRY(link_check(t, link));
	const char *key = link_key(t->parent, link, what);
	*out = fallback;
	return table_find(t->parent, key) ? read_u64(t->parent, key, out) : NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkState)(nvmlDevice_t device, unsigned link, nvmlEnableState_t *active)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(active);
	TRY(link_u64(&t, link, "state", 1, &n));
	*active = (nvmlEnableState_t)(n != 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkVersion)(nvmlDevice_t device, unsigned link, unsigned *version)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(version);
	TRY(link_u64(&t, link, "version", 6, &n));
	*version = (unsigned)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkCapability)(nvmlDevice_t device, unsigned link, nvmlNvLinkCapability_t which,
                                   unsigned *result)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(result);
	if ((unsigned)which > 5) return NVML_ERROR_INVALID_ARGUMENT;
	TRY(link_u64(&t, link, "capability", 1, &n));
	*result = (unsigned)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkErrorCounter)(nvmlDevice_t device, unsigned link,
                                     nvmlNvLinkErrorCounter_t counter, unsigned long long *count)
{
	static const char *const names[] = {"replay", "recovery", "crcflit", "crcdata", "ecc"};
	ENTER_DEVICE(device);
	NEED(count);
	if ((unsigned)counter > 4) return NVML_ERROR_INVALID_ARGUMENT;
	return link_u64(&t, link, names[counter], 0, count);
}

/* nvlink.I.peer BUSID is what hangs on a link; without it a switch. */
static nvmlReturn_t peer(struct target *t, unsigned link, nvmlPciInfo_t *pci)
{
	struct table other;
	TRY(link_check(t, link));
	struct value *v = table_find(t->parent, link_key(t->parent, link, "peer"));
	char *words[] = {v ? v->text : (char *)"00000000:C0:00.0"};
	memset(&other, 0, sizeof other);
	table_set(&other, "busid", words, 1);
	pci_fill(&other, pci);
	pci->pciDeviceId = v ? pci->pciDeviceId : 0x22a310de;
	pci->pciSubSystemId = 0;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkRemotePciInfo_v2)(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *pci)
{
	ENTER_DEVICE(device);
	NEED(pci);
	return peer(&t, link, pci);
}

API(nvmlDeviceGetNvLinkRemotePciInfo)(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *pci)
{
	nvmlPciInfo_t full;
	ENTER_DEVICE(device);
	NEED(pci);
	TRY(peer(&t, link, &full));
	memset(full.busId, 0, sizeof full.busId);
	memcpy(pci, &full, 52);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkRemoteDeviceType)(nvmlDevice_t device, unsigned link,
                                         nvmlIntNvLinkDeviceType_t *type)
{
	unsigned long long n;
	ENTER_DEVICE(device);
	NEED(type);
	TRY(link_u64(&t, link, "peertype", 2, &n));
	*type = (nvmlIntNvLinkDeviceType_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetNvLinkUtilizationCounter)(nvmlDevice_t device, unsigned link, unsigned counter,
                                           unsigned long long *rx, unsigned long long *tx)
{
	ENTER_DEVICE(device);
	NEED(rx);
	NEED(tx);
	if (counter > 1) return NVML_ERROR_INVALID_ARGUMENT;
	/* It counts nothing before a counter was set up, and Volta was the last to have it. */
	if (get_u64(t.parent, "arch", 0) > 5) return NVML_ERROR_NOT_SUPPORTED;
	TRY(link_u64(&t, link, "rx", 0, rx));
	return link_u64(&t, link, "tx", 0, tx);
}

API(nvmlDeviceGetNvLinkInfo)(nvmlDevice_t device, nvmlNvLinkInfo_v2_t *info)
{
	unsigned links;
	ENTER_DEVICE(device);
	NEED(info);
	unsigned word = info->version;
	if (word != nvmlNvLinkInfo_v1 && word != nvmlNvLinkInfo_v2)
		return version_refused(__func__, word);
	TRY(read_u32(t.parent, "nvlink", &links));
	info->isNvleEnabled = (unsigned)get_u64(t.parent, "nvlink.encryption", 0);
	if (word == nvmlNvLinkInfo_v1) return NVML_SUCCESS;
	memset(&info->firmwareInfo, 0, sizeof info->firmwareInfo);
	info->firmwareInfo.numValidEntries = 1;
	info->firmwareInfo.firmwareVersion[0].ucodeType = 1;
	info->firmwareInfo.firmwareVersion[0].major = 3;
	return NVML_SUCCESS;
}

/* ---- topology ---- */

API(nvmlDeviceGetTopologyCommonAncestor)(nvmlDevice_t device, nvmlDevice_t other,
                                         nvmlGpuTopologyLevel_t *level)
{
	struct target o;
	unsigned n = 20;
	ENTER_DEVICE(device);
	NEED(level);
	if (!handle_resolve(other, &o)) return NVML_ERROR_INVALID_ARGUMENT;
	/* topology.I against GPU I, else topology, else host bridge. */
	const char *key = key_of("topology", o.index);
	if (o.index == t.index)
		n = 0;
	else if (table_find(t.parent, key))
		TRY(read_u32(t.parent, key, &n));
	else if (table_find(t.parent, "topology"))
		TRY(read_u32(t.parent, "topology", &n));
	*level = (nvmlGpuTopologyLevel_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetTopologyNearestGpus)(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                      unsigned *count, nvmlDevice_t *devices)
{
	ENTER_DEVICE(device);
	NEED(count);
	unsigned n = 0;
	for (unsigned i = 0; i < now->gpus; i++) {
		uint64_t between = get_u64(t.parent, key_of("topology", i),
		                           get_u64(t.parent, "topology", 20));
		if (i == t.index || between > (uint64_t)level) continue;
		if (devices && n < *count) devices[n] = handle_of(i, NO_INSTANCE);
		n++;
	}
	*count = n;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetP2PStatus)(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index,
                            nvmlGpuP2PStatus_t *status)
{
	struct target o;
	unsigned n = 0;
	ENTER_DEVICE(device);
	NEED(status);
	if (!handle_resolve(other, &o)) return NVML_ERROR_INVALID_ARGUMENT;
	if ((unsigned)index > 5) return NVML_ERROR_INVALID_ARGUMENT;
	const char *key = key_of("p2p", (unsigned)index);
	if (table_find(t.parent, key)) TRY(read_u32(t.parent, key, &n));
	*status = (nvmlGpuP2PStatus_t)n;
	return NVML_SUCCESS;
}

API(nvmlDeviceOnSameBoard)(nvmlDevice_t device, nvmlDevice_t other, int *same)
{
	struct target o;
	ENTER_DEVICE(device);
	NEED(same);
	if (!handle_resolve(other, &o)) return NVML_ERROR_INVALID_ARGUMENT;
	*same = get_u64(t.parent, "boardid", 0) == get_u64(o.parent, "boardid", 1);
	return NVML_SUCCESS;
}

API(nvmlSystemGetTopologyGpuSet)(unsigned cpu, unsigned *count, nvmlDevice_t *devices)
{
	ENTER();
	NEED(count);
	(void)cpu;
	unsigned room = *count;
	*count = now->gpus;
	if (!devices) return NVML_SUCCESS;
	if (room < now->gpus) return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < now->gpus; i++) devices[i] = handle_of(i, NO_INSTANCE);
	return NVML_SUCCESS;
}

/*
 * set_bits reads a list like "0-15,32" into words of unsigned long, which is
 * 64 bits on Linux and 32 on Windows. What does not fit is left out.
 */
static void set_bits(const char *list, unsigned long *words, unsigned count)
{
	const unsigned bits = 8 * sizeof(unsigned long);
	memset(words, 0, count * sizeof *words);
	while (*list) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (end == list) return;
		if (*end == '-') to = strtoul(end + 1, &end, 10);
		for (unsigned long i = from; i <= to; i++)
			if (i / bits < count) words[i / bits] |= 1ul << (i % bits);
		list = *end == ',' ? end + 1 : end;
	}
}

static nvmlReturn_t affinity(struct target *t, const char *key, unsigned count, unsigned long *words)
{
	NEED(words);
	if (count == 0) return NVML_ERROR_INVALID_ARGUMENT;
	if (count > 1u << 16) {
		violation("affinity", "set of %u words", count);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	struct value *v = table_find(t->parent, key);
	if (!v) return NVML_ERROR_NOT_SUPPORTED;
	if (v->kind == VALUE_ERROR) return (nvmlReturn_t)v->code;
	set_bits(v->text, words, count);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetCpuAffinity)(nvmlDevice_t device, unsigned count, unsigned long *words)
{
	ENTER_DEVICE(device);
	return affinity(&t, "cpus", count, words);
}

API(nvmlDeviceGetCpuAffinityWithinScope)(nvmlDevice_t device, unsigned count, unsigned long *words,
                                         nvmlAffinityScope_t scope)
{
	ENTER_DEVICE(device);
	if (scope > 1) return NVML_ERROR_INVALID_ARGUMENT;
	return affinity(&t, "cpus", count, words);
}

API(nvmlDeviceGetMemoryAffinity)(nvmlDevice_t device, unsigned count, unsigned long *words,
                                 nvmlAffinityScope_t scope)
{
	ENTER_DEVICE(device);
	if (scope > 1) return NVML_ERROR_INVALID_ARGUMENT;
	return affinity(&t, "nodes", count, words);
}
