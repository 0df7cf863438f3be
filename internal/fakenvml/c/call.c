/* What happens around every call: counting, faults, checks of state. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/*
 * The layout of calls.bin. The file is shared between the processes that load
 * the library, so that a test reads it while they run and after they died.
 */
struct counter {
	char name[88];
	uint64_t calls, active, most_active;
	uint64_t gpu[MAX_GPUS];
};

static struct counter *counters;
static struct counter *local_counters;

/* Private exports for tests that have the library in their own process. */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
EXPORT uint64_t fakenvml_calls(const char *name);
EXPORT uint64_t fakenvml_calls_gpu(const char *name, unsigned gpu);
EXPORT uint64_t fakenvml_most_active(const char *name);

int driver_since(int major, int minor)
{
	return generation_major > major ||
	       (generation_major == major && generation_minor >= minor);
}

static int function_index(const char *name)
{
	int low = 0, high = function_count - 1;
	while (low <= high) {
		int middle = (low + high) / 2;
		int order = strcmp(name, function_names[middle]);
		if (order == 0) return middle;
		if (order < 0)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return -1;
}

static void open_counters(void)
{
	char path[4096];
	size_t size = sizeof(struct counter) * (size_t)function_count;
	scenario_sibling("calls.bin", path, sizeof path);
	counters = os_map_file(path, size);
	if (!counters) counters = local_counters = calloc(1, size);
	for (int i = 0; i < function_count; i++)
		snprintf(counters[i].name, sizeof counters[i].name, "%s", function_names[i]);
}

static uint64_t add(uint64_t *n, uint64_t by)
{
	return __atomic_add_fetch(n, by, __ATOMIC_SEQ_CST);
}

static void count(int function, int gpu)
{
	struct counter *c = &counters[function];
	add(&c->calls, 1);
	if (gpu >= 0 && gpu < MAX_GPUS) add(&c->gpu[gpu], 1);
	uint64_t active = add(&c->active, 1);
	if (active > __atomic_load_n(&c->most_active, __ATOMIC_SEQ_CST))
		__atomic_store_n(&c->most_active, active, __ATOMIC_SEQ_CST);
}

uint64_t fakenvml_calls(const char *name)
{
	int i = function_index(name);
	return i < 0 || !counters ? 0 : __atomic_load_n(&counters[i].calls, __ATOMIC_SEQ_CST);
}

uint64_t fakenvml_calls_gpu(const char *name, unsigned gpu)
{
	int i = function_index(name);
	return i < 0 || !counters || gpu >= MAX_GPUS
	               ? 0
	               : __atomic_load_n(&counters[i].gpu[gpu], __ATOMIC_SEQ_CST);
}

uint64_t fakenvml_most_active(const char *name)
{
	int i = function_index(name);
	return i < 0 || !counters ? 0
	                          : __atomic_load_n(&counters[i].most_active, __ATOMIC_SEQ_CST);
}

void violation(const char *function, const char *format, ...)
{
	char path[4096], text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	scenario_sibling("violations.log", path, sizeof path);
	FILE *f = fopen(path, "ab");
	if (!f) return;
	fprintf(f, "%s: %s\n", function, text);
	fclose(f);
}

/* fault_due counts a call that the fault is about, and answers whether it strikes. */
static int fault_due(struct fault *f, const char *name, int gpu)
{
	if (f->gpu >= 0 && f->gpu != gpu) return 0;
	if (f->prefix ? strncmp(name, f->pattern, strlen(f->pattern)) : strcmp(name, f->pattern))
		return 0;
	f->seen++;
	if (f->every) return f->seen % f->every == 0;
	return f->seen >= f->from && f->seen <= f->to;
}

static void crash(struct fault *f)
{
	if (f->segv) {
#ifdef _WIN32
		volatile int *nowhere = (volatile int *)8;
		*nowhere = 1;
#else
		/* The fault of a real access, not only its signal. */
		volatile int *volatile nowhere = (volatile int *)8;
		*nowhere = 1;
#endif
	}
	if (f->abort) abort();
	if (f->exit) _Exit(f->exit_code);
}

/* still_hung waits a moment and answers whether the fault is still in force. */
static int still_hung(struct fault *f, int64_t since, uint64_t serial)
{
	os_unlock(&state_mutex);
	os_sleep_ms(10);
	os_lock(&state_mutex);
	scenario_refresh(0);
	if (now->serial != serial) return 0;
	return f->release_ms == 0 || os_now_us() - since < (int64_t)f->release_ms * 1000;
}

static int faults(const char *name, int gpu, nvmlReturn_t *result);

/* strike lets a fault happen; 1 when it decides the answer. */
static int strike(struct fault *f, const char *name, int gpu, nvmlReturn_t *result)
{
	struct scenario *s = now;
	if (f->delay_ms || f->write_path) {
		os_unlock(&state_mutex);
		if (f->delay_ms) os_sleep_ms(f->delay_ms);
		if (f->write_path) os_write_blocking(f->write_path);
		os_lock(&state_mutex);
	}
	crash(f);
	int64_t since = os_now_us();
	while (f->hang && still_hung(f, since, s->serial)) {
	}
	/* After a change of the scenario the new one decides. */
	if (now != s) return faults(name, gpu, result);
	if (f->has_return) *result = (nvmlReturn_t)f->code;
	return f->has_return;
}

/* faults lets all faults of a call happen, in the order of the file. */
static int faults(const char *name, int gpu, nvmlReturn_t *result)
{
	struct scenario *s = now;
	unsigned len = 0;
	struct fault **due = NULL;
	for (unsigned i = 0; i < s->faults_len; i++) {
		if (!fault_due(&s->faults[i], name, gpu)) continue;
		if (!due) due = calloc(s->faults_len, sizeof *due);
		due[len++] = &s->faults[i];
	}
	int decided = 0;
	for (unsigned i = 0; i < len && !decided; i++) {
		decided = strike(due[i], name, gpu, result);
		if (now != s) break;
	}
	free(due);
	return decided;
}

static int begin(struct call *c, const char *name, int gpu, nvmlReturn_t *result)
{
	os_lock(&state_mutex);
	c->locked = 1;
	scenario_refresh(0);
	if (!counters) open_counters();
	c->function = function_index(name);
	if (c->function >= 0) count(c->function, gpu);
	return !faults(name, gpu, result);
}

int call_begin(struct call *c, const char *name, int gpu, int flags, nvmlReturn_t *result)
{
	if (!begin(c, name, gpu, result)) return 0;
	if (!(flags & ANY_STATE) && init_count == 0) {
		*result = NVML_ERROR_UNINITIALIZED;
		return 0;
	}
	return 1;
}

int call_begin_device(struct call *c, const char *name, nvmlDevice_t device, struct target *t,
                      nvmlReturn_t *result)
{
	os_lock(&state_mutex);
	scenario_refresh(0);
	int known = handle_resolve(device, t);
	os_unlock(&state_mutex);
	int gpu = known ? (int)t->index : NO_DEVICE;
	if (!begin(c, name, gpu, result)) return 0;
	if (init_count == 0) {
		*result = NVML_ERROR_UNINITIALIZED;
		return 0;
	}
	/* Again: the scenario may be another one since the call began. */
	if (!handle_resolve(device, t)) {
		if (!device)
			violation(name, "NULL device");
		*result = NVML_ERROR_INVALID_ARGUMENT;
		return 0;
	}
	unsigned lost;
	if (read_u32(t->parent, "lost", &lost) == NVML_SUCCESS && lost) {
		*result = (nvmlReturn_t)(lost == 1 ? NVML_ERROR_GPU_IS_LOST : (int)lost);
		return 0;
	}
	return 1;
}

void call_unlock(struct call *c)
{
	if (c->locked) os_unlock(&state_mutex);
	c->locked = 0;
}

void call_lock(struct call *c)
{
	if (!c->locked) os_lock(&state_mutex);
	c->locked = 1;
}

void call_end(struct call *c)
{
	if (c->function >= 0) add(&counters[c->function].active, (uint64_t)-1);
	call_unlock(c);
}

nvmlReturn_t version_refused(const char *function, unsigned got)
{
	/* Words of newer drivers, which callers try before the older ones. */
	static const struct {
		const char *function;
		unsigned word;
	} newer[] = {
		{"nvmlDeviceGetGpuFabricInfoV", nvmlGpuFabricInfo_v3},
		{"nvmlDeviceGetGpuInstanceProfileInfoV", nvmlGpuInstanceProfileInfo_v3},
		{"nvmlGpuInstanceGetComputeInstanceProfileInfoV", nvmlComputeInstanceProfileInfo_v3},
		{"nvmlDeviceGetNvLinkInfo", nvmlNvLinkInfo_v2},
		{"nvmlDeviceGetPlatformInfo", nvmlPlatformInfo_v2},
	};
	int known = 0;
	for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
		known |= got == newer[i].word && !strcmp(function, newer[i].function);
	if (!known) violation(function, "version word %#x", got);
	/* The code for it came with 520. */
	return driver_since(520, 0) ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH
	                            : NVML_ERROR_FUNCTION_NOT_FOUND;
}

/* stub_call is every function of the generation that has no scripted answer. */
nvmlReturn_t stub_call(const char *name, const void *first)
{
	struct target t;
	os_lock(&state_mutex);
	scenario_refresh(0);
	int known = handle_resolve((nvmlDevice_t)first, &t);
	os_unlock(&state_mutex);
	CALL_(call_begin(&call_, name, known ? (int)t.index : NO_DEVICE, 0, &result_));
	if (!strncmp(name, "nvmlDevice", 10)) NEED(first);
	return NVML_ERROR_NOT_SUPPORTED;
}
