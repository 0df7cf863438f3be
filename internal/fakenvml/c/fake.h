/* Shared declarations of the fake driver library. */
#ifndef FAKENVML_FAKE_H
#define FAKENVML_FAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
/* What a generation exports is a matter of its module definition alone. */
#pragma push_macro("__declspec")
#undef __declspec
#define __declspec(x)
#endif
#include "../../abi/nvml_abi.h"
#ifdef _WIN32
#pragma pop_macro("__declspec")
#endif

enum {
	MAX_GPUS = 256,
	MAX_MIG = 14, /* MIG devices of one GPU */
	NO_INSTANCE = -1,
};

/* ---- generated for one driver generation (see generate.go) ---- */

extern const char generation_name[];
extern const char generation_driver[]; /* "580.95.05" */
extern const char generation_nvml[];   /* "13.580.95.05" */
extern const int generation_cuda;
extern const int generation_major, generation_minor;
extern const unsigned generation_gpm_max; /* 0: no GPM in this generation */
extern const unsigned generation_process_v3; /* entry size behind _v3, 0: absent */
extern const char *const function_names[]; /* sorted */
extern const int function_count;
extern const char *const known_functions[]; /* of all generations, then NULL */

/* driver_since reports whether the generation is that driver or a newer one. */
int driver_since(int major, int minor);

/* ---- os.c ---- */

typedef struct os_mutex os_mutex;
extern os_mutex state_mutex;

void os_lock(os_mutex *m);
void os_unlock(os_mutex *m);
int64_t os_now_us(void);      /* monotonic */
int64_t os_wall_us(void);     /* since 1970 */
void os_sleep_ms(unsigned ms);
/* os_library_dir writes the folder of this library, with a closing separator. */
void os_library_dir(char *dir, size_t size);
/* os_map_file maps an existing file of at least size bytes, shared, or answers NULL. */
void *os_map_file(const char *path, size_t size);
/* os_stamp answers a number that changes when the file does, -1 when it is absent. */
int64_t os_stamp(const char *path);
/* os_write_blocking writes and syncs the file again and again until it returns an error. */
void os_write_blocking(const char *path);

/* ---- values and tables (value.c) ---- */

enum value_kind {
	VALUE_NONE,
	VALUE_ERROR,   /* the query fails with code */
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_WALK,    /* bounded random walk */
	VALUE_SINE,
	VALUE_LIST,    /* one after the other, again from the start */
	VALUE_RAMP,    /* start + n * step */
	VALUE_COUNTER, /* start + seconds * rate */
};

struct value {
	enum value_kind kind;
	int code;
	uint64_t number; /* VALUE_NUMBER, exact */
	double real;     /* the same as a double; start of the moving kinds */
	double low, high, step;
	uint64_t reads;
	uint64_t seed;
	double *list;
	int list_len;
	char *text; /* the words as written, for text */
};

struct entry {
	struct entry *next;
	struct value value;
	char key[];
};

struct process {
	unsigned pid;
	uint64_t bytes;
	unsigned gi, ci;
	uint64_t protected_bytes;
};

enum process_kind { PROCESS_COMPUTE, PROCESS_GRAPHICS, PROCESS_MPS, PROCESS_KINDS };

struct process_list {
	struct process *items;
	unsigned len, cap;
};

struct usage {
	unsigned pid;
	int64_t age_us; /* before now; negative: fixed stamp in stamp */
	uint64_t stamp;
	unsigned sm, mem, enc, dec, jpg, ofa;
};

struct page {
	unsigned cause;
	uint64_t address, stamp;
};

struct accounting {
	unsigned pid, running, gpu, mem;
	uint64_t max_bytes, time_ms, start_us;
};

enum { TABLE_BUCKETS = 128 };

/* A table holds what one GPU, one MIG device or the library as a whole answers. */
struct table {
	struct entry *buckets[TABLE_BUCKETS];
	struct process_list processes[PROCESS_KINDS];
	struct usage *usage;
	unsigned usage_len;
	struct page *pages;
	unsigned pages_len;
	struct accounting *accounting;
	unsigned accounting_len;
	unsigned seed;
	int present; /* MIG: an instance exists at this index */
	int line;    /* MIG: the last line of the scenario about it */
};

struct gpu {
	struct table table;
	struct table mig[MAX_MIG];
};

struct fault {
	char pattern[96];
	int prefix; /* pattern ended in * */
	int gpu;    /* -1: any, also calls without a GPU */
	uint64_t from, to, every;
	uint64_t seen;
	int has_return, code;
	unsigned delay_ms;
	int hang;
	unsigned release_ms; /* 0: never */
	char *write_path;
	int segv, abort, exit;
	int exit_code;
};

struct event {
	unsigned gpu;
	unsigned at_ms;
	uint64_t type, data;
	unsigned gi, ci;
	uint64_t id; /* hash of the line, to know it again after a reload */
};

struct scenario {
	uint64_t serial;
	int64_t loaded_us;
	unsigned gpus;
	struct table global;
	struct gpu *gpu; /* gpus of them */
	struct fault *faults;
	unsigned faults_len;
	struct event *events;
	unsigned events_len;
};

/* The current scenario; valid while state_mutex is held, and never freed. */
extern struct scenario *now;

/* scenario_refresh loads the scenario file at first and after changes. Lock held. */
void scenario_refresh(int force);
/* scenario_sibling writes the path of a file beside the scenario file. */
void scenario_sibling(const char *name, char *path, size_t size);
extern const char *const models[]; /* name, text, name, text, ..., NULL */

struct value *table_find(struct table *t, const char *key);
void table_put(struct table *t, const char *key, struct value v);
void table_set(struct table *t, const char *key, char *const *words, int n);
void table_clear(struct table *t);
/* parse_value reads the words after a key. */
void parse_value(struct value *v, char *const *words, int n);
/* parse_whole reads a whole number: "none" for all ones, suffixes KiB, MiB, GiB; 0: it is none. */
int parse_whole(const char *s, uint64_t *n);
/* number_word also reads fractions. */
int number_word(const char *s, uint64_t *whole, double *real);

/* Readers of keys. An absent key is NOT_SUPPORTED, a key that says "error N" is N. */
nvmlReturn_t read_double(struct table *t, const char *key, double *out);
nvmlReturn_t read_u64(struct table *t, const char *key, unsigned long long *out);
nvmlReturn_t read_u32(struct table *t, const char *key, unsigned *out);
nvmlReturn_t read_text(struct table *t, const char *key, char *out, unsigned size);
/* The same with a fallback where the key is absent. */
uint64_t get_u64(struct table *t, const char *key, uint64_t fallback);
/* key_of writes "a.N" or "a.N.M" into a ring of static buffers. Lock held. */
const char *key_of(const char *a, unsigned n);
const char *key_of2(const char *a, unsigned n, const char *b);

/* ---- keys (keys.c) ---- */

enum place { LIBRARY = 1, GPU = 2, MIG = 4 };

/*
 * key_set lets the words "KEY VALUE" set a key of the library, a GPU or a MIG
 * device. It answers what is wrong with them, NULL when nothing is.
 */
const char *key_set(struct table *t, int place, char *const *words, int n);
/* field_type is the number of a type's name, "u64" or "type-9"; -1: it is none. */
int field_type(const char *word);

/* ---- calls (call.c) ---- */

struct target {
	unsigned index;       /* GPU */
	int mig;              /* MIG index or NO_INSTANCE */
	struct table *table;  /* of the device asked */
	struct table *parent; /* of the GPU */
};

struct call {
	int function; /* index in function_names, -1 */
	int locked;
};

enum { NO_DEVICE = -1, ANY_STATE = 1 };

/*
 * call_begin counts the call, lets faults happen, and takes the lock. Flags:
 * ANY_STATE leaves out the check that the library is initialised.
 */
int call_begin(struct call *c, const char *name, int gpu, int flags, nvmlReturn_t *result);
int call_begin_device(struct call *c, const char *name, nvmlDevice_t device, struct target *t,
                      nvmlReturn_t *result);
void call_end(struct call *c);
/* call_unlock gives the lock back early, for calls that wait. */
void call_unlock(struct call *c);
void call_lock(struct call *c);
/* violation notes that a caller broke a rule of NVML. */
void violation(const char *function, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
nvmlReturn_t stub_call(const char *name, const void *first);

/* An exported function: the builder reads these lines to know what is not a stub. */
#define API(name) nvmlReturn_t name

#define CALL_(begin)                                            \
	__attribute__((cleanup(call_end))) struct call call_;   \
	nvmlReturn_t result_ = NVML_SUCCESS;                    \
	if (!(begin)) return result_
/* ENTER starts a function without a device, ENTER_DEVICE one with a device; t is its target. */
#define ENTER() CALL_(call_begin(&call_, __func__, NO_DEVICE, 0, &result_))
#define ENTER_ANY() CALL_(call_begin(&call_, __func__, NO_DEVICE, ANY_STATE, &result_))
#define ENTER_GPU(index) CALL_(call_begin(&call_, __func__, (index), 0, &result_))
#define ENTER_DEVICE(device)                                    \
	struct target t;                                        \
	CALL_(call_begin_device(&call_, __func__, (device), &t, &result_))
#define NEED(pointer)                                                           \
	do {                                                                    \
		if (!(pointer)) return NVML_ERROR_INVALID_ARGUMENT;             \
	} while (0)
/* NEED_GPU refuses MIG devices. */
#define NEED_GPU()                                                              \
	do {                                                                    \
		if (t.mig != NO_INSTANCE) return NVML_ERROR_NOT_SUPPORTED;      \
	} while (0)
#define TRY(expression)                                                         \
	do {                                                                    \
		nvmlReturn_t try_ = (expression);                               \
		if (try_ != NVML_SUCCESS) return try_;                          \
	} while (0)

nvmlReturn_t version_refused(const char *function, unsigned got);
/* NEED_VERSION compares the version word, as drivers of the generation do. */
#define NEED_VERSION(structure, word)                                           \
	do {                                                                    \
		NEED(structure);                                                \
		if ((structure)->version != (unsigned)(word))                   \
			return version_refused(__func__, (structure)->version); \
	} while (0)

/* One unsigned int from one key, the most common function. */
#define API_U32(name, key)                                                      \
	API(name)(nvmlDevice_t device, unsigned *out)                           \
	{                                                                       \
		ENTER_DEVICE(device);                                           \
		NEED(out);                                                      \
		return read_u32(t.table, key, out);                             \
	}

/* ---- handles (handle.c) ---- */

extern int init_count;
extern unsigned init_flags;
void handles_forget(void);
nvmlDevice_t handle_of(unsigned gpu, int mig);
int handle_resolve(nvmlDevice_t device, struct target *t);
nvmlReturn_t copy_text(const char *text, char *out, unsigned size);
void pci_numbers(struct table *t, unsigned *domain, unsigned *bus, unsigned *device);
void pci_fill(struct table *t, nvmlPciInfo_t *pci);
void events_forget(void);
void gpm_forget(void);

#endif
