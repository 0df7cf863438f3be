/* Field values: which driver has which field, and which key it reads. */
#include <stdio.h>
#include <string.h>

#include "fake.h"

enum type { DOUBLE, U32, ULONG, U64, S64, S32, U16 };

enum scope { NO_SCOPE, PER_LINK };

static const struct field {
	unsigned id;
	int major, minor; /* first driver */
	enum type type;
	const char *key;
	enum scope scope;
} fields[] = {
	{1, 384, 0, U32, "ecc.mode", NO_SCOPE},
	{2, 384, 0, U32, "ecc.pending", NO_SCOPE},
	{3, 384, 0, U64, "ecc.corrected.volatile", NO_SCOPE},
	{4, 384, 0, U64, "ecc.uncorrected.volatile", NO_SCOPE},
	{5, 384, 0, U64, "ecc.corrected.aggregate", NO_SCOPE},
	{6, 384, 0, U64, "ecc.uncorrected.aggregate", NO_SCOPE},
	{29, 384, 0, U64, "retired.single", NO_SCOPE},
	{30, 384, 0, U64, "retired.double", NO_SCOPE},
	{31, 384, 0, U64, "retired.pending", NO_SCOPE},
	{74, 384, 0, U64, "policy.0", NO_SCOPE},
	{75, 384, 0, U64, "policy.1", NO_SCOPE},
	{76, 384, 0, U64, "policy.2", NO_SCOPE},
	{77, 384, 0, U64, "policy.3", NO_SCOPE},
	{78, 384, 0, U64, "policy.4", NO_SCOPE},
	{79, 384, 0, U64, "policy.5", NO_SCOPE},
	{80, 384, 0, U64, "policy.10", NO_SCOPE},
	{81, 384, 0, U64, "policy.11", NO_SCOPE},
	{82, 384, 59, U32, "temperature.memory", NO_SCOPE},
	{83, 410, 0, U64, "energy", NO_SCOPE},
	{90, 410, 0, U32, "nvlink.speed", NO_SCOPE},
	{91, 410, 0, U32, "nvlink", NO_SCOPE},
	{92, 410, 0, U32, "retired.pending.single", NO_SCOPE},
	{93, 410, 0, U32, "retired.pending.double", NO_SCOPE},
	{94, 410, 0, U32, "pcie.replay", NO_SCOPE},
	{95, 410, 0, U32, "pcie.rollover", NO_SCOPE},
	{138, 450, 0, U64, "nvlink.tx", PER_LINK},
	{139, 450, 0, U64, "nvlink.rx", PER_LINK},
	{140, 450, 0, U64, "nvlink.rawtx", PER_LINK},
	{141, 450, 0, U64, "nvlink.rawrx", PER_LINK},
	{142, 450, 0, U64, "remap.corrected", NO_SCOPE},
	{143, 450, 0, U64, "remap.uncorrected", NO_SCOPE},
	{144, 450, 0, U64, "remap.pending", NO_SCOPE},
	{145, 450, 0, U64, "remap.failed", NO_SCOPE},
	{161, 520, 0, U64, "nvlink.replay", PER_LINK},
	{162, 520, 0, U64, "nvlink.recovery", PER_LINK},
	{163, 520, 0, U64, "nvlink.crcflit", PER_LINK},
	{164, 520, 0, U32, "nvlink.speed", PER_LINK},
	{165, 520, 0, U32, "nvlink.state", PER_LINK},
	{166, 520, 0, U32, "nvlink.version", PER_LINK},
	{167, 520, 0, U32, "nvlink.power", PER_LINK},
	{170, 535, 43, U32, "c2c.links", NO_SCOPE},
	{171, 535, 43, U32, "c2c.status", NO_SCOPE},
	{172, 535, 43, U32, "c2c.bandwidth", NO_SCOPE},
	{173, 525, 105, U32, "pcie.correctable", NO_SCOPE},
	{174, 525, 105, U32, "pcie.naksreceived", NO_SCOPE},
	{175, 525, 105, U32, "pcie.receiver", NO_SCOPE},
	{176, 525, 105, U32, "pcie.badtlp", NO_SCOPE},
	{177, 525, 105, U32, "pcie.nakssent", NO_SCOPE},
	{178, 525, 105, U32, "pcie.baddllp", NO_SCOPE},
	{179, 525, 105, U32, "pcie.nonfatal", NO_SCOPE},
	{180, 525, 105, U32, "pcie.fatal", NO_SCOPE},
	{181, 525, 105, U32, "pcie.unsupported", NO_SCOPE},
	{182, 525, 105, U32, "pcie.lcrc", NO_SCOPE},
	{183, 525, 105, U32, "pcie.lane", NO_SCOPE},
	{185, 525, 105, U32, "power.average", NO_SCOPE},
	{186, 525, 105, U32, "power.instant", NO_SCOPE},
	{187, 535, 43, U32, "power.min", NO_SCOPE},
	{188, 535, 43, U32, "power.max", NO_SCOPE},
	{189, 535, 43, U32, "power.default", NO_SCOPE},
	{190, 535, 43, U32, "power.limit", NO_SCOPE},
	{191, 535, 43, U64, "energy", NO_SCOPE},
	{192, 535, 43, U32, "power.limit", NO_SCOPE},
	{193, 525, 125, S32, "tlimit.shutdown", NO_SCOPE},
	{194, 525, 125, S32, "tlimit.slowdown", NO_SCOPE},
	{195, 525, 125, S32, "tlimit.memory", NO_SCOPE},
	{196, 525, 125, S32, "tlimit.gpu", NO_SCOPE},
	{197, 555, 42, U32, "pcie.txbytes", NO_SCOPE},
	{198, 555, 42, U32, "pcie.rxbytes", NO_SCOPE},
	{201, 560, 28, U64, "nvlink5.txpackets", PER_LINK},
	{202, 560, 28, U64, "nvlink5.tx", PER_LINK},
	{203, 560, 28, U64, "nvlink5.rxpackets", PER_LINK},
	{204, 560, 28, U64, "nvlink5.rx", PER_LINK},
	{206, 560, 28, U64, "nvlink5.malformed", PER_LINK},
	{207, 560, 28, U64, "nvlink5.overrun", PER_LINK},
	{208, 560, 28, U64, "nvlink5.rxerrors", PER_LINK},
	{211, 560, 28, U64, "nvlink5.integrity", PER_LINK},
	{212, 560, 28, U64, "nvlink5.discards", PER_LINK},
	{213, 560, 28, U64, "nvlink5.recovered", PER_LINK},
	{214, 560, 28, U64, "nvlink5.unrecovered", PER_LINK},
	{215, 560, 28, U64, "nvlink5.recoveries", PER_LINK},
	{219, 560, 28, U64, "nvlink5.effective", PER_LINK},
	{221, 560, 28, U64, "nvlink5.symbols", PER_LINK},
	{226, 565, 57, U32, "reset.status", NO_SCOPE},
	{227, 565, 57, U32, "drain.status", NO_SCOPE},
	{230, 565, 57, U32, "recovery", NO_SCOPE},
	{301, 595, 71, U64, "remap.corrected.inactive", NO_SCOPE},
	{302, 595, 71, U64, "remap.uncorrected.inactive", NO_SCOPE},
};

/* The three clock reasons have had two places. */
static const char *moved(unsigned id)
{
	static const char *const keys[] = {"policy.swthermal", "policy.hwthermal", "policy.brake"};
	if (driver_since(580, 82)) return id >= 269 && id <= 271 ? keys[id - 269] : NULL;
	if (driver_since(575, 51)) return id >= 251 && id <= 253 ? keys[id - 251] : NULL;
	return NULL;
}

static void store(nvmlFieldValue_t *f, enum type type, double real, unsigned long long exact)
{
	memset(&f->value, 0, sizeof f->value);
	f->valueType = (nvmlValueType_t)type;
	switch (type) {
	case DOUBLE: f->value.dVal = real; break;
	case U32: f->value.uiVal = (unsigned)exact; break;
	case ULONG: f->value.ulVal = (unsigned long)exact; break;
	case U64: f->value.ullVal = exact; break;
	case S64: f->value.sllVal = (long long)exact; break;
	case S32: f->value.siVal = (int)exact; break;
	case U16: f->value.usVal = (unsigned short)exact; break;
	}
}

static nvmlReturn_t read_both(struct table *t, const char *key, double *real, unsigned long long *exact)
{
	struct value *v = table_find(t, key);
	if (v && v->kind == VALUE_NUMBER) {
		*real = v->real;
		*exact = v->number;
		return NVML_SUCCESS;
	}
	TRY(read_double(t, key, real));
	*exact = (unsigned long long)(long long)(*real + (*real < 0 ? -0.5 : 0.5));
	return NVML_SUCCESS;
}

int field_type(const char *word)
{
	static const char *const names[] = {"double", "u32", "ulong", "u64", "s64", "s32", "u16"};
	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
		if (!strcmp(word, names[i])) return i;
	/* A type that callers do not know. */
	unsigned n;
	int end = -1;
	return sscanf(word, "type-%2u%n", &n, &end) == 1 && !word[end] ? (int)n : -1;
}

/* "field.ID[.SCOPE] [TYPE] NUMBER" or "field.ID[.SCOPE] error N" goes before everything. */
static int scripted(struct table *t, nvmlFieldValue_t *f)
{
	char scoped[48], first[40] = "", second[40];
	snprintf(scoped, sizeof scoped, "field.%u.%u", f->fieldId, f->scopeId);
	struct value *v = table_find(t, scoped);
	if (!v) v = table_find(t, key_of("field", f->fieldId));
	if (!v) return 0;
	if (v->kind == VALUE_ERROR) {
		f->nvmlReturn = (nvmlReturn_t)v->code;
		return 1;
	}
	int typed = sscanf(v->text, "%39s %39s", first, second) == 2;
	int type = typed ? field_type(first) : U64;
	uint64_t whole;
	double real;
	number_word(typed ? second : first, &whole, &real);
	store(f, type > U16 ? U64 : (enum type)type, real, whole);
	f->valueType = (nvmlValueType_t)type;
	f->nvmlReturn = NVML_SUCCESS;
	return 1;
}

/* value_of reads one field; per link with a scope, the sum of all with all ones. */
static nvmlReturn_t value_of(struct target *t, const struct field *d, unsigned scope,
                             double *real, unsigned long long *exact)
{
	if (d->scope == NO_SCOPE) return read_both(t->parent, d->key, real, exact);
	unsigned links;
	TRY(read_u32(t->parent, "nvlink", &links));
	const char *dot = strchr(d->key, '.');
	char own[48];
	double sum_real = 0;
	unsigned long long sum = 0;
	if (scope != UINT32_MAX && scope >= links) return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < links; i++) {
		if (scope != UINT32_MAX && scope != i) continue;
		snprintf(own, sizeof own, "%.*s.%u%s", (int)(dot - d->key), d->key, i, dot);
		TRY(read_both(t->parent, table_find(t->parent, own) ? own : d->key, real, exact));
		sum_real += *real;
		sum += *exact;
	}
	*real = sum_real;
	*exact = sum;
	return NVML_SUCCESS;
}

static void fill(struct target *t, nvmlFieldValue_t *f)
{
	double real = 0;
	unsigned long long exact = 0;
	f->timestamp = os_wall_us();
	f->latencyUsec = 12;
	if (scripted(t->table, f)) return;
	const char *key = moved(f->fieldId);
	if (key) {
		f->nvmlReturn = read_both(t->parent, key, &real, &exact);
		if (f->nvmlReturn == NVML_SUCCESS) store(f, U64, real, exact);
		return;
	}
	f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	if (f->fieldId == 0) {
		f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
		return;
	}
	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct field *d = &fields[i];
		if (d->id != f->fieldId) continue;
		if (!driver_since(d->major, d->minor)) {
			/* Numbers above the driver's last one are not arguments at all. */
			f->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
			return;
		}
		/* Power of the module (scope 1) has keys of its own: module.power.instant. */
		if ((d->id == 185 || d->id == 186) && f->scopeId == 1) {
			f->nvmlReturn = read_both(
				t->parent, d->id == 185 ? "module.average" : "module.instant", &real, &exact);
		} else {
			f->nvmlReturn = value_of(t, d, f->scopeId, &real, &exact);
		}
		if (f->nvmlReturn == NVML_SUCCESS) store(f, d->type, real, exact);
		return;
	}
}

API(nvmlDeviceGetFieldValues)(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	ENTER_DEVICE(device);
	NEED(values);
	if (count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
	if (count > 4096) {
		violation(__func__, "count of %d fields", count);
		return NVML_ERROR_INVALID_ARGUMENT;
	}
	for (int i = 0; i < count; i++) fill(&t, &values[i]);
	return NVML_SUCCESS;
}
