/* MIG devices, instances and profiles. */
#include <stdio.h>
#include <string.h>

#include "fake.h"

API(nvmlDeviceGetMigMode)(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
	ENTER_DEVICE(device);
	NEED(current);
	NEED(pending);
	NEED_GPU();
	TRY(read_u32(t.parent, "mig.current", current));
	*pending = (unsigned)get_u64(t.parent, "mig.pending", *current);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetMaxMigDeviceCount)(nvmlDevice_t device, unsigned *count)
{
	ENTER_DEVICE(device);
	NEED(count);
	/* Without MIG the count is 0, and that is an answer. */
	*count = t.mig == NO_INSTANCE ? (unsigned)get_u64(t.parent, "mig.max", 0) : 0;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetMigDeviceHandleByIndex)(nvmlDevice_t device, unsigned index, nvmlDevice_t *mig)
{
	ENTER_DEVICE(device);
	NEED(mig);
	NEED_GPU();
	if (get_u64(t.parent, "mig.current", 0) != 1) return NVML_ERROR_NOT_SUPPORTED;
	if (index >= get_u64(t.parent, "mig.max", 0)) return NVML_ERROR_INVALID_ARGUMENT;
	if (index >= MAX_MIG || !now->gpu[t.index].mig[index].present) return NVML_ERROR_NOT_FOUND;
	unsigned code = (unsigned)get_u64(&now->gpu[t.index].mig[index], "open", 0);
	if (code) return (nvmlReturn_t)code;
	*mig = handle_of(t.index, (int)index);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(nvmlDevice_t mig, nvmlDevice_t *device)
{
	ENTER_DEVICE(mig);
	NEED(device);
	if (t.mig == NO_INSTANCE) return NVML_ERROR_INVALID_ARGUMENT;
	*device = handle_of(t.index, NO_INSTANCE);
	return NVML_SUCCESS;
}

API(nvmlDeviceIsMigDeviceHandle)(nvmlDevice_t device, unsigned *is_mig)
{
	ENTER_DEVICE(device);
	NEED(is_mig);
	*is_mig = t.mig != NO_INSTANCE;
	return NVML_SUCCESS;
}

static nvmlReturn_t instance_id(struct target *t, const char *key, unsigned *id)
{
	NEED(id);
	if (t->mig == NO_INSTANCE) return NVML_ERROR_NOT_SUPPORTED;
	return read_u32(t->table, key, id);
}

API(nvmlDeviceGetGpuInstanceId)(nvmlDevice_t device, unsigned *id)
{
	ENTER_DEVICE(device);
	return instance_id(&t, "gi", id);
}

API(nvmlDeviceGetComputeInstanceId)(nvmlDevice_t device, unsigned *id)
{
	ENTER_DEVICE(device);
	return instance_id(&t, "ci", id);
}

/* The first form is 24 bytes: five counts and the memory. */
struct attributes_v1 {
	unsigned sm, copy, decoder, encoder;
	unsigned long long memory_mb;
};

static nvmlReturn_t attributes(struct target *t, nvmlDeviceAttributes_t *a)
{
	memset(a, 0, sizeof *a);
	if (t->mig == NO_INSTANCE) return NVML_ERROR_NOT_SUPPORTED;
	struct table *m = t->table;
	unsigned long long memory;
	TRY(read_u32(m, "attribute.sm", &a->multiprocessorCount));
	TRY(read_u64(m, "attribute.memory", &memory));
	a->memorySizeMB = memory;
	a->sharedCopyEngineCount = (unsigned)get_u64(m, "attribute.copy", 0);
	a->sharedDecoderCount = (unsigned)get_u64(m, "attribute.decoder", 0);
	a->sharedEncoderCount = (unsigned)get_u64(m, "attribute.encoder", 0);
	a->sharedJpegCount = (unsigned)get_u64(m, "attribute.jpeg", 0);
	a->sharedOfaCount = (unsigned)get_u64(m, "attribute.ofa", 0);
	a->gpuInstanceSliceCount = (unsigned)get_u64(m, "attribute.gislices", 0);
	a->computeInstanceSliceCount = (unsigned)get_u64(m, "attribute.cislices", 0);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetAttributes_v2)(nvmlDevice_t device, nvmlDeviceAttributes_t *out)
{
	nvmlDeviceAttributes_t a;
	ENTER_DEVICE(device);
	NEED(out);
	TRY(attributes(&t, &a));
	*out = a;
	return NVML_SUCCESS;
}

API(nvmlDeviceGetAttributes)(nvmlDevice_t device, nvmlDeviceAttributes_t *out)
{
	nvmlDeviceAttributes_t a;
	ENTER_DEVICE(device);
	NEED(out);
	TRY(attributes(&t, &a));
	struct attributes_v1 old = {a.multiprocessorCount, a.sharedCopyEngineCount,
	                            a.sharedDecoderCount, a.sharedEncoderCount, a.memorySizeMB};
	memcpy(out, &old, sizeof old);
	return NVML_SUCCESS;
}

/* ---- profiles ---- */

/* NVML's profile numbers 0 to 9, what the GPU says of each: slices, how many, eighths of memory. */
static const struct profile {
	unsigned slices, count, eighths;
} profiles[] = {{1, 7, 1}, {2, 3, 2}, {3, 2, 4}, {4, 1, 4}, {7, 1, 8}};

enum { PROFILES = sizeof profiles / sizeof *profiles, PROFILE_KINDS = 15 };

struct profile_facts {
	unsigned id, sm, copy, decoder, jpeg, ofa;
	unsigned long long memory_mb;
	char name[96];
	const struct profile *p;
};

static nvmlReturn_t profile_facts(struct target *t, unsigned profile, struct profile_facts *f)
{
	unsigned on;
	unsigned long long total;
	memset(f, 0, sizeof *f);
	if (t->mig != NO_INSTANCE) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u32(t->parent, "mig.current", &on));
	if (profile >= PROFILE_KINDS) return NVML_ERROR_INVALID_ARGUMENT;
	if (profile >= PROFILES) return NVML_ERROR_NOT_SUPPORTED;
	TRY(read_u64(t->parent, "memory.total", &total));
	f->p = &profiles[profile];
	f->id = 19 - profile * 5 + (profile == 4);
	f->sm = f->p->slices * 16;
	f->copy = f->p->slices;
	f->decoder = f->p->slices;
	f->jpeg = f->p->slices;
	f->ofa = f->p->slices == 7;
	f->memory_mb = (total >> 20) * f->p->eighths / 8;
	snprintf(f->name, sizeof f->name, "MIG %ug.%llugb", f->p->slices,
	         (f->memory_mb + 1023) >> 10);
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuInstanceProfileInfo)(nvmlDevice_t device, unsigned profile,
                                         nvmlGpuInstanceProfileInfo_t *info)
{
	struct profile_facts f;
	ENTER_DEVICE(device);
	NEED(info);
	TRY(profile_facts(&t, profile, &f));
	memset(info, 0, sizeof *info);
	info->id = f.id;
	info->sliceCount = f.p->slices;
	info->instanceCount = f.p->count;
	info->multiprocessorCount = f.sm;
	info->copyEngineCount = f.copy;
	info->decoderCount = f.decoder;
	info->jpegCount = f.jpeg;
	info->ofaCount = f.ofa;
	info->memorySizeMB = f.memory_mb;
	return NVML_SUCCESS;
}

/* Words v2 and v3 have the same size and another order of fields. */
static nvmlReturn_t profile_v(const char *name, const struct profile_facts *f,
                              nvmlGpuInstanceProfileInfo_v2_t *info)
{
	if (info->version == nvmlGpuInstanceProfileInfo_v2) {
		memset(info, 0, sizeof *info);
		info->version = nvmlGpuInstanceProfileInfo_v2;
		info->id = f->id;
		info->sliceCount = f->p->slices;
		info->instanceCount = f->p->count;
		info->multiprocessorCount = f->sm;
		info->copyEngineCount = f->copy;
		info->decoderCount = f->decoder;
		info->jpegCount = f->jpeg;
		info->ofaCount = f->ofa;
		info->memorySizeMB = f->memory_mb;
		memcpy(info->name, f->name, sizeof info->name);
		return NVML_SUCCESS;
	}
	if (info->version == nvmlGpuInstanceProfileInfo_v3 && driver_since(525, 0)) {
		nvmlGpuInstanceProfileInfo_v3_t *v3 = (nvmlGpuInstanceProfileInfo_v3_t *)(void *)info;
		memset(v3, 0, sizeof *v3);
		v3->version = nvmlGpuInstanceProfileInfo_v3;
		v3->id = f->id;
		v3->sliceCount = f->p->slices;
		v3->instanceCount = f->p->count;
		v3->multiprocessorCount = f->sm;
		v3->copyEngineCount = f->copy;
		v3->decoderCount = f->decoder;
		v3->jpegCount = f->jpeg;
		v3->ofaCount = f->ofa;
		v3->memorySizeMB = f->memory_mb;
		memcpy(v3->name, f->name, sizeof v3->name);
		return NVML_SUCCESS;
	}
	return version_refused(name, info->version);
}

API(nvmlDeviceGetGpuInstanceProfileInfoV)(nvmlDevice_t device, unsigned profile,
                                          nvmlGpuInstanceProfileInfo_v2_t *info)
{
	struct profile_facts f;
	ENTER_DEVICE(device);
	NEED(info);
	TRY(profile_facts(&t, profile, &f));
	return profile_v(__func__, &f, info);
}

/* by_id finds the profile whose id that is. */
static nvmlReturn_t by_id(struct target *t, unsigned id, struct profile_facts *f)
{
	for (unsigned i = 0; i < PROFILES; i++) {
		TRY(profile_facts(t, i, f));
		if (f->id == id) return NVML_SUCCESS;
	}
	return NVML_ERROR_INVALID_ARGUMENT;
}

API(nvmlDeviceGetGpuInstanceProfileInfoByIdV)(nvmlDevice_t device, unsigned id,
                                              nvmlGpuInstanceProfileInfo_v2_t *info)
{
	struct profile_facts f;
	ENTER_DEVICE(device);
	NEED(info);
	TRY(by_id(&t, id, &f));
	return profile_v(__func__, &f, info);
}

static nvmlReturn_t placements(struct target *t, unsigned id, nvmlGpuInstancePlacement_t *out,
                               unsigned *count)
{
	struct profile_facts f;
	NEED(count);
	TRY(by_id(t, id, &f));
	if (out && *count < f.p->count) return NVML_ERROR_INSUFFICIENT_SIZE;
	*count = f.p->count;
	for (unsigned i = 0; out && i < f.p->count; i++) {
		out[i].start = i * f.p->eighths;
		out[i].size = f.p->eighths;
	}
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(nvmlDevice_t device, unsigned id,
                                                   nvmlGpuInstancePlacement_t *out, unsigned *count)
{
	ENTER_DEVICE(device);
	return placements(&t, id, out, count);
}

API(nvmlDeviceGetGpuInstancePossiblePlacements)(nvmlDevice_t device, unsigned id,
                                                nvmlGpuInstancePlacement_t *out, unsigned *count)
{
	ENTER_DEVICE(device);
	/* The first form wants an array for every placement there is. */
	NEED(out);
	return placements(&t, id, out, count);
}

/* slices_of is the number before "g." in the profile of a MIG device. */
static unsigned slices_of(struct table *mig)
{
	return (unsigned)get_u64(mig, "attribute.gislices", 1);
}

/* gpu_instance_at tells whether a MIG device is the first of its GPU instance. */
static int first_of_instance(struct gpu *g, unsigned m)
{
	if (!g->mig[m].present) return 0;
	for (unsigned i = 0; i < m; i++)
		if (g->mig[i].present &&
		    get_u64(&g->mig[i], "gi", 0) == get_u64(&g->mig[m], "gi", 0))
			return 0;
	return 1;
}

API(nvmlDeviceGetGpuInstanceRemainingCapacity)(nvmlDevice_t device, unsigned id, unsigned *count)
{
	struct profile_facts f;
	unsigned used = 0;
	ENTER_DEVICE(device);
	NEED(count);
	TRY(by_id(&t, id, &f));
	struct gpu *g = &now->gpu[t.index];
	for (unsigned m = 0; m < MAX_MIG; m++)
		if (first_of_instance(g, m)) used += slices_of(&g->mig[m]);
	unsigned left = used < 7 ? (7 - used) / f.p->slices : 0;
	*count = left < f.p->count ? left : f.p->count;
	return NVML_SUCCESS;
}

/*
 * Handles of instances: the address of the MIG device's place in these tables.
 * Tables without content, like those of devices.
 */
static char gpu_instances[MAX_GPUS][MAX_MIG];
static char compute_instances[MAX_GPUS][MAX_MIG];

static struct table *instance_of(const void *handle, char (*base)[MAX_MIG], unsigned *gpu,
                                 unsigned *mig)
{
	uintptr_t p = (uintptr_t)handle, start = (uintptr_t)base;
	if (p < start || p >= start + MAX_GPUS * MAX_MIG) return NULL;
	*gpu = (unsigned)(p - start) / MAX_MIG;
	*mig = (unsigned)(p - start) % MAX_MIG;
	if (*gpu >= now->gpus || !now->gpu[*gpu].mig[*mig].present) return NULL;
	return &now->gpu[*gpu].mig[*mig];
}

API(nvmlDeviceGetGpuInstances)(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *out,
                               unsigned *count)
{
	struct profile_facts f;
	ENTER_DEVICE(device);
	NEED(out);
	NEED(count);
	TRY(by_id(&t, id, &f));
	struct gpu *g = &now->gpu[t.index];
	*count = 0;
	for (unsigned m = 0; m < MAX_MIG; m++)
		if (first_of_instance(g, m) && slices_of(&g->mig[m]) == f.p->slices)
			out[(*count)++] = (nvmlGpuInstance_t)(void *)&gpu_instances[t.index][m];
	return NVML_SUCCESS;
}

API(nvmlDeviceGetGpuInstanceById)(nvmlDevice_t device, unsigned id, nvmlGpuInstance_t *out)
{
	unsigned on;
	ENTER_DEVICE(device);
	NEED(out);
	NEED_GPU();
	TRY(read_u32(t.parent, "mig.current", &on));
	struct gpu *g = &now->gpu[t.index];
	for (unsigned m = 0; m < MAX_MIG; m++)
		if (first_of_instance(g, m) && get_u64(&g->mig[m], "gi", UINT32_MAX) == id) {
			*out = (nvmlGpuInstance_t)(void *)&gpu_instances[t.index][m];
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

static unsigned profile_id(unsigned slices)
{
	for (unsigned i = 0; i < PROFILES; i++)
		if (profiles[i].slices == slices) return 19 - i * 5 + (i == 4);
	return 19;
}

API(nvmlGpuInstanceGetInfo)(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info)
{
	unsigned gpu, mig;
	ENTER();
	NEED(info);
	struct table *m = instance_of(instance, gpu_instances, &gpu, &mig);
	if (!m) return NVML_ERROR_INVALID_ARGUMENT;
	memset(info, 0, sizeof *info);
	info->device = handle_of(gpu, NO_INSTANCE);
	info->id = (unsigned)get_u64(m, "gi", 0);
	info->profileId = profile_id(slices_of(m));
	info->placement.start = (unsigned)get_u64(m, "placement.start", mig);
	info->placement.size = slices_of(m);
	return NVML_SUCCESS;
}

API(nvmlGpuInstanceGetComputeInstanceById)(nvmlGpuInstance_t instance, unsigned id,
                                           nvmlComputeInstance_t *out)
{
	unsigned gpu, mig;
	ENTER();
	NEED(out);
	struct table *m = instance_of(instance, gpu_instances, &gpu, &mig);
	if (!m) return NVML_ERROR_INVALID_ARGUMENT;
	uint64_t gi = get_u64(m, "gi", 0);
	for (unsigned i = 0; i < MAX_MIG; i++) {
		struct table *other = &now->gpu[gpu].mig[i];
		if (!other->present || get_u64(other, "gi", 0) != gi ||
		    get_u64(other, "ci", 0) != id)
			continue;
		*out = (nvmlComputeInstance_t)(void *)&compute_instances[gpu][i];
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

/* The profile of a compute instance is the one with as many slices. */
API(nvmlGpuInstanceGetComputeInstances)(nvmlGpuInstance_t instance, unsigned profile,
                                        nvmlComputeInstance_t *out, unsigned *count)
{
	unsigned gpu, mig;
	ENTER();
	NEED(out);
	NEED(count);
	struct table *m = instance_of(instance, gpu_instances, &gpu, &mig);
	if (!m || profile >= PROFILES) return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	for (unsigned i = 0; i < MAX_MIG; i++) {
		struct table *other = &now->gpu[gpu].mig[i];
		if (!other->present || get_u64(other, "gi", 0) != get_u64(m, "gi", 0) ||
		    get_u64(other, "attribute.cislices", 1) != profiles[profile].slices)
			continue;
		out[(*count)++] = (nvmlComputeInstance_t)(void *)&compute_instances[gpu][i];
	}
	return NVML_SUCCESS;
}

static nvmlReturn_t compute_info(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info)
{
	unsigned gpu, mig;
	struct table *m = instance_of(instance, compute_instances, &gpu, &mig);
	if (!m) return NVML_ERROR_INVALID_ARGUMENT;
	memset(info, 0, sizeof *info);
	info->device = handle_of(gpu, NO_INSTANCE);
	for (unsigned i = 0; i < MAX_MIG; i++)
		if (first_of_instance(&now->gpu[gpu], i) &&
		    get_u64(&now->gpu[gpu].mig[i], "gi", 0) == get_u64(m, "gi", 0))
			info->gpuInstance = (nvmlGpuInstance_t)(void *)&gpu_instances[gpu][i];
	info->id = (unsigned)get_u64(m, "ci", 0);
	info->placement.start = (unsigned)get_u64(m, "ci", 0);
	info->placement.size = (unsigned)get_u64(m, "attribute.cislices", 1);
	return NVML_SUCCESS;
}

API(nvmlComputeInstanceGetInfo_v2)(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info)
{
	ENTER();
	NEED(info);
	return compute_info(instance, info);
}

API(nvmlComputeInstanceGetInfo)(nvmlComputeInstance_t instance, nvmlComputeInstanceInfo_t *info)
{
	nvmlComputeInstanceInfo_t full;
	ENTER();
	NEED(info);
	TRY(compute_info(instance, &full));
	/* The first form ends before the placement. */
	memcpy(info, &full, offsetof(nvmlComputeInstanceInfo_t, placement));
	return NVML_SUCCESS;
}

/* Compute profiles 0 to 4: 1, 2, 3, 4 and 7 slices of the GPU instance. */
static nvmlReturn_t compute_profile(nvmlGpuInstance_t instance, unsigned profile, unsigned engines,
                                    struct profile_facts *f, unsigned *slices)
{
	unsigned gpu, mig;
	memset(f, 0, sizeof *f);
	struct table *m = instance_of(instance, gpu_instances, &gpu, &mig);
	if (!m || profile >= 8 || engines > 0) return NVML_ERROR_INVALID_ARGUMENT;
	unsigned whole = slices_of(m);
	if (profile >= PROFILES || profiles[profile].slices > whole) return NVML_ERROR_NOT_SUPPORTED;
	f->p = &profiles[profile];
	f->id = profile;
	f->sm = f->p->slices * 16;
	f->copy = f->decoder = f->jpeg = whole;
	f->ofa = whole == 7;
	snprintf(f->name, sizeof f->name, "MIG %uc.%ug", f->p->slices, whole);
	*slices = whole;
	return NVML_SUCCESS;
}

API(nvmlGpuInstanceGetComputeInstanceProfileInfo)(nvmlGpuInstance_t instance, unsigned profile,
                                                  unsigned engines,
                                                  nvmlComputeInstanceProfileInfo_t *info)
{
	struct profile_facts f;
	unsigned whole;
	ENTER();
	NEED(info);
	TRY(compute_profile(instance, profile, engines, &f, &whole));
	memset(info, 0, sizeof *info);
	info->id = f.id;
	info->sliceCount = f.p->slices;
	info->instanceCount = whole / f.p->slices;
	info->multiprocessorCount = f.sm;
	info->sharedCopyEngineCount = f.copy;
	info->sharedDecoderCount = f.decoder;
	info->sharedJpegCount = f.jpeg;
	info->sharedOfaCount = f.ofa;
	return NVML_SUCCESS;
}

API(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(nvmlGpuInstance_t instance, unsigned profile,
                                                   unsigned engines,
                                                   nvmlComputeInstanceProfileInfo_v2_t *info)
{
	struct profile_facts f;
	unsigned whole;
	ENTER();
	NEED(info);
	TRY(compute_profile(instance, profile, engines, &f, &whole));
	unsigned word = info->version;
	if (word != nvmlComputeInstanceProfileInfo_v2 &&
	    !(word == nvmlComputeInstanceProfileInfo_v3 && driver_since(525, 0)))
		return version_refused(__func__, word);
	memset(info, 0, sizeof *info);
	info->version = word;
	info->id = f.id;
	info->sliceCount = f.p->slices;
	info->instanceCount = whole / f.p->slices;
	info->multiprocessorCount = f.sm;
	info->sharedCopyEngineCount = f.copy;
	info->sharedDecoderCount = f.decoder;
	info->sharedJpegCount = f.jpeg;
	info->sharedOfaCount = f.ofa;
	memcpy(info->name, f.name, sizeof info->name);
	/* v3 is v2 and one word more. */
	if (word == nvmlComputeInstanceProfileInfo_v3)
		((nvmlComputeInstanceProfileInfo_v3_t *)(void *)info)->capabilities = 0;
	return NVML_SUCCESS;
}
