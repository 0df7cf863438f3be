/* Fabric and platform. */
#include <string.h>

#include "fake.h"

/* fabric STATE, with fabric.clique, .cluster (32 hex digits), .status, .health, .summary. */
struct fabric {
	unsigned state, clique, status, health, summary;
	unsigned char cluster[16];
};

static void hex_bytes(const char *text, unsigned char *out, unsigned size)
{
	unsigned n = 0;
	memset(out, 0, size);
	for (; *text && n < 2 * size; text++) {
		int digit = *text >= '0' && *text <= '9'   ? *text - '0'
		            : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
		            : *text >= 'A' && *text <= 'F' ? *text - 'A' + 10
		                                           : -1;
		if (digit < 0) continue;
		out[n / 2] = (unsigned char)(out[n / 2] | digit << (n % 2 ? 0 : 4));
		n++;
	}
}

static nvmlReturn_t fabric(struct target *t, struct fabric *f)
{
	memset(f, 0, sizeof *f);
	TRY(read_u32(t->parent, "fabric", &f->state));
	f->clique = (unsigned)get_u64(t->parent, "fabric.clique", 0);
	f->status = (unsigned)get_u64(t->parent, "fabric.status", 0);
	f->health = (unsigned)get_u64(t->parent, "fabric.health", 0);
	f->summary = (unsigned)get_u64(t->parent, "fabric.summary", f->state == 3 ? 1 : 0);
	struct value *cluster = table_find(t->parent, "fabric.cluster");
	if (cluster) hex_bytes(cluster->text, f->cluster, sizeof f->cluster);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuFabricInfo)(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	struct fabric f;
	ENTER_DEVICE(device);
	NEED(info);
	TRY(fabric(&t, &f));
	memset(info, 0, sizeof *info);
	memcpy(info->clusterUuid, f.cluster, sizeof info->clusterUuid);
	info->status = (nvmlReturn_t)f.status;
	info->cliqueId = f.clique;
	info->state = (nvmlGpuFabricState_t)f.state;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuFabricInfoV)(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info)
{
	struct fabric f;
	ENTER_DEVICE(device);
	NEED(info);
	unsigned word = info->version;
	if (word != nvmlGpuFabricInfo_v2 && !(word == nvmlGpuFabricInfo_v3 && driver_since(580, 0)))
		return version_refused(__func__, word);
	TRY(fabric(&t, &f));
	memcpy(info->clusterUuid, f.cluster, sizeof info->clusterUuid);
	info->status = (nvmlReturn_t)f.status;
	info->cliqueId = f.clique;
	info->state = (nvmlGpuFabricState_t)f.state;
	info->healthMask = f.health;
	/* v2 is v3 without this byte, and four bytes shorter. */
	if (word == nvmlGpuFabricInfo_v3) info->healthSummary = (unsigned char)f.summary;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuFabricInfo_v4)(nvmlDevice_t device, nvmlGpuFabricInfo_v4_t *info)
{
	struct fabric f;
	ENTER_DEVICE(device);
	NEED(info);
	TRY(fabric(&t, &f));
	memset(info, 0, sizeof *info);
	memcpy(info->clusterUuid, f.cluster, sizeof info->clusterUuid);
	info->status = (nvmlReturn_t)f.status;
	info->cliques[0].id = f.clique;
	info->numCliques = 1;
	info->state = (nvmlGpuFabricState_t)f.state;
	info->healthMask = f.health;
	info->healthSummary = (unsigned char)f.summary;
	return NVML_SUCCESS;
}

/* platform.slot and the like; both words have 44 bytes and other meanings. */
API(nvmlDeviceGetPlatformInfo)(nvmlDevice_t device, nvmlPlatformInfo_v2_t *info)
{
	unsigned slot;
	ENTER_DEVICE(device);
	NEED(info);
	unsigned word = info->version;
	if (word != nvmlPlatformInfo_v1 && !(word == nvmlPlatformInfo_v2 && driver_since(570, 124)))
		return version_refused(__func__, word);
	TRY(read_u32(t.parent, "platform.slot", &slot));
	memset(info, 0, sizeof *info);
	info->version = word;
	struct value *guid = table_find(t.parent, "platform.guid");
	if (guid) hex_bytes(guid->text, info->ibGuid, sizeof info->ibGuid);
	struct value *serial = table_find(t.parent, "platform.chassis");
	if (serial && word == nvmlPlatformInfo_v2)
		strncpy((char *)info->chassisSerialNumber, serial->text,
		        sizeof info->chassisSerialNumber - 1);
	info->slotNumber = (unsigned char)slot;
	info->trayIndex = (unsigned char)get_u64(t.parent, "platform.tray", 0);
	info->hostId = (unsigned char)get_u64(t.parent, "platform.host", 0);
	info->peerType = (unsigned char)get_u64(t.parent, "platform.peertype", 0);
	info->moduleId = (unsigned char)get_u64(t.parent, "platform.module", 1);
	return NVML_SUCCESS;
}
