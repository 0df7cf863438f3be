/*
 * The keys of the scenario: what a line may set, of what, and what its value
 * looks like. A test compares them with the keys that the other files look up.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* LINK: nvlink.KEY of all links is also nvlink.I.KEY of one. */
enum { LINK = 1 << 3 };

/* What a value is, besides "error N" and "unset". */
enum form {
	NUMBER,       /* standing or moving */
	TEXT,         /* to the end of the line */
	LIST,         /* 2619,1593 or 0-15,32 */
	BUS_ID,       /* 0000001B:00:00.0 */
	EXCLUDED,     /* UUID BUSID */
	FIELD,        /* [TYPE] NUMBER */
	BATCH_WORD,   /* wrong or partial */
	SUCCESS_WORD, /* success */
};

/* In the order of their bytes; # is a number. */
static const struct key {
	const char *pattern;
	int places;
	enum form form;
} keys[] = {
	{"accounting", GPU, NUMBER},
	{"accounting.buffer", GPU, NUMBER},
	{"addressing", GPU, NUMBER},
	{"arch", GPU, NUMBER},
	{"attribute.cislices", MIG, NUMBER},
	{"attribute.copy", MIG, NUMBER},
	{"attribute.decoder", MIG, NUMBER},
	{"attribute.encoder", MIG, NUMBER},
	{"attribute.gislices", MIG, NUMBER},
	{"attribute.jpeg", MIG, NUMBER},
	{"attribute.memory", MIG, NUMBER},
	{"attribute.ofa", MIG, NUMBER},
	{"attribute.sm", MIG, NUMBER},
	{"bar1.total", GPU | MIG, NUMBER},
	{"bar1.used", GPU | MIG, NUMBER},
	{"boardid", GPU | MIG, NUMBER},
	{"branch", LIBRARY, TEXT},
	{"brand", GPU, NUMBER},
	{"busid", GPU, BUS_ID},
	{"bustype", GPU, NUMBER},
	{"buswidth", GPU | MIG, NUMBER},
	{"c2c", GPU, NUMBER},
	{"c2c.bandwidth", GPU, NUMBER},
	{"c2c.links", GPU, NUMBER},
	{"c2c.status", GPU, NUMBER},
	{"capabilities", GPU, NUMBER},
	{"capability", GPU, NUMBER},
	{"cc.devtools", LIBRARY, NUMBER},
	{"cc.environment", LIBRARY, NUMBER},
	{"cc.multigpu", LIBRARY, NUMBER},
	{"cc.protected", GPU | MIG, NUMBER},
	{"cc.protected.used", GPU | MIG, NUMBER},
	{"cc.state", LIBRARY, NUMBER},
	{"cc.unprotected", GPU | MIG, NUMBER},
	{"ci", MIG, NUMBER},
	{"clock", LIBRARY, NUMBER},
	{"clock.graphics", GPU, NUMBER},
	{"clock.memory", GPU, NUMBER},
	{"clock.sm", GPU, NUMBER},
	{"clock.video", GPU, NUMBER},
	{"clockapp.graphics", GPU, NUMBER},
	{"clockapp.memory", GPU, NUMBER},
	{"clockapp.sm", GPU, NUMBER},
	{"clockapp.video", GPU, NUMBER},
	{"clockboost.graphics", GPU, NUMBER},
	{"clockboost.memory", GPU, NUMBER},
	{"clockboost.sm", GPU, NUMBER},
	{"clockboost.video", GPU, NUMBER},
	{"clockmax.graphics", GPU, NUMBER},
	{"clockmax.memory", GPU, NUMBER},
	{"clockmax.sm", GPU, NUMBER},
	{"clockmax.video", GPU, NUMBER},
	{"clocks.graphics", GPU, LIST},
	{"clocks.memory", GPU, LIST},
	{"computemode", GPU, NUMBER},
	{"cores", GPU | MIG, NUMBER},
	{"cpus", GPU, LIST},
	{"cuda", LIBRARY, NUMBER},
	{"decoder", GPU | MIG, NUMBER},
	{"display.active", GPU, NUMBER},
	{"display.mode", GPU, NUMBER},
	{"drain.status", GPU, NUMBER},
	{"driver", LIBRARY, TEXT},
	{"drivermodel", GPU, NUMBER},
	{"ecc.corrected.aggregate", GPU, NUMBER},
	{"ecc.corrected.volatile", GPU, NUMBER},
	{"ecc.default", GPU, NUMBER},
	{"ecc.mode", GPU, NUMBER},
	{"ecc.pending", GPU, NUMBER},
	{"ecc.sram", GPU, NUMBER},
	{"ecc.sram.corrected", GPU, NUMBER},
	{"ecc.sram.parity", GPU, NUMBER},
	{"ecc.sram.threshold", GPU, NUMBER},
	{"ecc.sram.uncorrected", GPU, NUMBER},
	{"ecc.uncorrected.aggregate", GPU, NUMBER},
	{"ecc.uncorrected.volatile", GPU, NUMBER},
	{"encoder", GPU | MIG, NUMBER},
	{"encoder.capacity", GPU | MIG, NUMBER},
	{"encoder.fps", GPU | MIG, NUMBER},
	{"encoder.latency", GPU | MIG, NUMBER},
	{"encoder.pid.#", GPU | MIG, NUMBER},
	{"encoder.sessions", GPU | MIG, NUMBER},
	{"energy", GPU, NUMBER},
	{"engine.period", GPU | MIG, NUMBER},
	{"events", GPU, NUMBER},
	{"excluded.#", LIBRARY, EXCLUDED},
	{"fabric", GPU, NUMBER},
	{"fabric.clique", GPU, NUMBER},
	{"fabric.cluster", GPU, TEXT},
	{"fabric.health", GPU, NUMBER},
	{"fabric.status", GPU, NUMBER},
	{"fabric.summary", GPU, NUMBER},
	{"fan.#", GPU, NUMBER},
	{"fan.max", GPU, NUMBER},
	{"fan.min", GPU, NUMBER},
	{"fan.policy.#", GPU, NUMBER},
	{"fan.rpm.#", GPU, NUMBER},
	{"fan.target.#", GPU, NUMBER},
	{"fans", GPU, NUMBER},
	{"fbc.fps", GPU | MIG, NUMBER},
	{"fbc.latency", GPU | MIG, NUMBER},
	{"fbc.pid.#", GPU | MIG, NUMBER},
	{"fbc.sessions", GPU | MIG, NUMBER},
	{"field.#", GPU | MIG, FIELD},
	{"field.#.#", GPU | MIG, FIELD},
	{"gi", MIG, NUMBER},
	{"gpm", GPU, NUMBER},
	{"gpm.#", GPU | MIG, NUMBER},
	{"gpm.batch", LIBRARY, BATCH_WORD},
	{"gpm.crash", LIBRARY, NUMBER},
	{"gpm.first", LIBRARY, NUMBER},
	{"gpm.max", LIBRARY, NUMBER},
	{"gpm.overrun", LIBRARY, NUMBER},
	{"gpm.streaming", GPU, NUMBER},
	{"gsp.mode", GPU, NUMBER},
	{"gsp.version", GPU, TEXT},
	{"hostname", GPU, TEXT},
	{"inforom", GPU, TEXT},
	{"init", LIBRARY, NUMBER},
	{"irq", GPU | MIG, NUMBER},
	{"jpg", GPU | MIG, NUMBER},
	{"lost", GPU, NUMBER},
	{"margin", GPU, NUMBER},
	{"memory.reserved", GPU | MIG, NUMBER},
	{"memory.total", GPU | MIG, NUMBER},
	{"memory.used", GPU | MIG, NUMBER},
	{"mig.current", GPU, NUMBER},
	{"mig.max", GPU, NUMBER},
	{"mig.pending", GPU, NUMBER},
	{"minor", GPU | MIG, NUMBER},
	{"module.average", GPU, NUMBER},
	{"module.instant", GPU, NUMBER},
	{"moduleid", GPU | MIG, NUMBER},
	{"multigpu", GPU | MIG, NUMBER},
	{"name", GPU | MIG, TEXT},
	{"nodes", GPU, LIST},
	{"numa", GPU | MIG, NUMBER},
	{"nvlink", GPU, NUMBER},
	{"nvlink.capability", GPU | LINK, NUMBER},
	{"nvlink.crcdata", GPU | LINK, NUMBER},
	{"nvlink.crcflit", GPU | LINK, NUMBER},
	{"nvlink.ecc", GPU | LINK, NUMBER},
	{"nvlink.encryption", GPU, NUMBER},
	{"nvlink.peer", GPU | LINK, BUS_ID},
	{"nvlink.peertype", GPU | LINK, NUMBER},
	{"nvlink.power", GPU | LINK, NUMBER},
	{"nvlink.rawrx", GPU | LINK, NUMBER},
	{"nvlink.rawtx", GPU | LINK, NUMBER},
	{"nvlink.recovery", GPU | LINK, NUMBER},
	{"nvlink.replay", GPU | LINK, NUMBER},
	{"nvlink.rx", GPU | LINK, NUMBER},
	{"nvlink.speed", GPU | LINK, NUMBER},
	{"nvlink.state", GPU | LINK, NUMBER},
	{"nvlink.tx", GPU | LINK, NUMBER},
	{"nvlink.version", GPU | LINK, NUMBER},
	{"nvlink5.discards", GPU | LINK, NUMBER},
	{"nvlink5.effective", GPU | LINK, NUMBER},
	{"nvlink5.integrity", GPU | LINK, NUMBER},
	{"nvlink5.malformed", GPU | LINK, NUMBER},
	{"nvlink5.overrun", GPU | LINK, NUMBER},
	{"nvlink5.recovered", GPU | LINK, NUMBER},
	{"nvlink5.recoveries", GPU | LINK, NUMBER},
	{"nvlink5.rx", GPU | LINK, NUMBER},
	{"nvlink5.rxerrors", GPU | LINK, NUMBER},
	{"nvlink5.rxpackets", GPU | LINK, NUMBER},
	{"nvlink5.symbols", GPU | LINK, NUMBER},
	{"nvlink5.tx", GPU | LINK, NUMBER},
	{"nvlink5.txpackets", GPU | LINK, NUMBER},
	{"nvlink5.unrecovered", GPU | LINK, NUMBER},
	{"nvml", LIBRARY, TEXT},
	{"ofa", GPU | MIG, NUMBER},
	{"open", GPU | MIG, NUMBER},
	{"operationmode", GPU, NUMBER},
	{"p2p.#", GPU, NUMBER},
	{"partnumber", GPU, TEXT},
	{"pci.id", GPU, NUMBER},
	{"pci.subclass", GPU, NUMBER},
	{"pci.subsystem", GPU, NUMBER},
	{"pcie.baddllp", GPU, NUMBER},
	{"pcie.badtlp", GPU, NUMBER},
	{"pcie.correctable", GPU, NUMBER},
	{"pcie.fatal", GPU, NUMBER},
	{"pcie.gen", GPU | MIG, NUMBER},
	{"pcie.gpumaxgen", GPU | MIG, NUMBER},
	{"pcie.lane", GPU, NUMBER},
	{"pcie.lcrc", GPU, NUMBER},
	{"pcie.maxgen", GPU | MIG, NUMBER},
	{"pcie.maxspeed", GPU | MIG, NUMBER},
	{"pcie.maxwidth", GPU | MIG, NUMBER},
	{"pcie.naksreceived", GPU, NUMBER},
	{"pcie.nakssent", GPU, NUMBER},
	{"pcie.nonfatal", GPU, NUMBER},
	{"pcie.receiver", GPU, NUMBER},
	{"pcie.replay", GPU | MIG, NUMBER},
	{"pcie.rollover", GPU, NUMBER},
	{"pcie.rx", GPU, NUMBER},
	{"pcie.rxbytes", GPU, NUMBER},
	{"pcie.speed", GPU | MIG, NUMBER},
	{"pcie.tx", GPU, NUMBER},
	{"pcie.txbytes", GPU, NUMBER},
	{"pcie.unsupported", GPU, NUMBER},
	{"pcie.wait", GPU, NUMBER},
	{"pcie.width", GPU | MIG, NUMBER},
	{"pdi", GPU, NUMBER},
	{"persistence", GPU, NUMBER},
	{"placement.start", MIG, NUMBER},
	{"platform.chassis", GPU, TEXT},
	{"platform.guid", GPU, TEXT},
	{"platform.host", GPU, NUMBER},
	{"platform.module", GPU, NUMBER},
	{"platform.peertype", GPU, NUMBER},
	{"platform.slot", GPU, NUMBER},
	{"platform.tray", GPU, NUMBER},
	{"policy.#", GPU, NUMBER},
	{"policy.brake", GPU, NUMBER},
	{"policy.hwthermal", GPU, NUMBER},
	{"policy.swthermal", GPU, NUMBER},
	{"power", GPU, NUMBER},
	{"power.average", GPU, NUMBER},
	{"power.default", GPU | MIG, NUMBER},
	{"power.enforced", GPU, NUMBER},
	{"power.instant", GPU, NUMBER},
	{"power.limit", GPU | MIG, NUMBER},
	{"power.max", GPU, NUMBER},
	{"power.min", GPU, NUMBER},
	{"power.source", GPU | MIG, NUMBER},
	{"process.clear", LIBRARY, NUMBER},
	{"process.garbage", LIBRARY, NUMBER},
	{"process.holes", LIBRARY, NUMBER},
	{"process.null", LIBRARY, SUCCESS_WORD},
	{"process.overrun", LIBRARY, NUMBER},
	{"process.slack", LIBRARY, NUMBER},
	{"process.stride.v1", LIBRARY, NUMBER},
	{"process.stride.v2", LIBRARY, NUMBER},
	{"process.stride.v3", LIBRARY, NUMBER},
	{"processes.#", GPU | MIG, NUMBER},
	{"processload", GPU | MIG, NUMBER},
	{"processname.#", LIBRARY, TEXT},
	{"profile", MIG, TEXT},
	{"pstate", GPU, NUMBER},
	{"reasons", GPU, NUMBER},
	{"reasons.supported", GPU, NUMBER},
	{"recovery", GPU, NUMBER},
	{"remap", GPU, NUMBER},
	{"remap.bank.high", GPU, NUMBER},
	{"remap.bank.low", GPU, NUMBER},
	{"remap.bank.max", GPU, NUMBER},
	{"remap.bank.none", GPU, NUMBER},
	{"remap.bank.partial", GPU, NUMBER},
	{"remap.corrected", GPU, NUMBER},
	{"remap.corrected.inactive", GPU, NUMBER},
	{"remap.failed", GPU, NUMBER},
	{"remap.pending", GPU, NUMBER},
	{"remap.uncorrected", GPU, NUMBER},
	{"remap.uncorrected.inactive", GPU, NUMBER},
	{"repair.channel", GPU, NUMBER},
	{"repair.tpc", GPU, NUMBER},
	{"reset.status", GPU, NUMBER},
	{"retired", GPU, NUMBER},
	{"retired.double", GPU, NUMBER},
	{"retired.pending", GPU, NUMBER},
	{"retired.pending.double", GPU, NUMBER},
	{"retired.pending.single", GPU, NUMBER},
	{"retired.single", GPU, NUMBER},
	{"samples.#", GPU | MIG, NUMBER},
	{"samples.count", GPU | MIG, NUMBER},
	{"serial", GPU, TEXT},
	{"temperature", GPU, NUMBER},
	{"temperature.memory", GPU, NUMBER},
	{"threshold.#", GPU, NUMBER},
	{"tlimit.gpu", GPU, NUMBER},
	{"tlimit.memory", GPU, NUMBER},
	{"tlimit.shutdown", GPU, NUMBER},
	{"tlimit.slowdown", GPU, NUMBER},
	{"topology", GPU, NUMBER},
	{"topology.#", GPU, NUMBER},
	{"usage.sizing", LIBRARY, NUMBER},
	{"util", GPU | MIG, NUMBER},
	{"util.memory", GPU | MIG, NUMBER},
	{"uuid", GPU | MIG, TEXT},
	{"vbios", GPU, TEXT},
	{"vgpu.host", GPU, NUMBER},
	{"vgpu.mode", GPU, NUMBER},
};

/*
 * pattern_of writes the key with # for every part that is a number, as the
 * code writes numbers. The number of a link is left out: *link tells that.
 */
static void pattern_of(const char *key, char *out, size_t size, int *link)
{
	size_t n = 0;
	*link = 0;
	for (const char *part = key; part && n + 1 < size; part = strchr(part, '.')) {
		if (*part == '.') out[n++] = *part++;
		size_t len = strcspn(part, "."), digits = strspn(part, "0123456789");
		int number = len > 0 && digits == len && (len == 1 || *part != '0');
		out[n] = 0;
		if (number && (!strcmp(out, "nvlink.") || !strcmp(out, "nvlink5."))) {
			*link = 1;
			n--;
			continue;
		}
		n += (size_t)snprintf(out + n, size - n, "%.*s", number ? 1 : (int)len,
		                      number ? "#" : part);
	}
	out[n < size ? n : size - 1] = 0;
}

static int compare(const void *pattern, const void *key)
{
	return strcmp(pattern, ((const struct key *)key)->pattern);
}

static const struct key *find(const char *key, int place)
{
	char pattern[64];
	int link;
	pattern_of(key, pattern, sizeof pattern, &link);
	const struct key *k =
		bsearch(pattern, keys, sizeof keys / sizeof *keys, sizeof *keys, compare);
	return k && (k->places & place) && (!link || k->places & LINK) ? k : NULL;
}

static int is_list(const char *s)
{
	for (;; s++) {
		if (!isdigit((unsigned char)*s)) return 0;
		s += strspn(s, "0123456789");
		if (*s == '-') {
			if (!isdigit((unsigned char)*++s)) return 0;
			s += strspn(s, "0123456789");
		}
		if (*s != ',') return !*s;
	}
}

static int is_bus_id(const char *s)
{
	unsigned domain, bus, device;
	int end = -1;
	if (sscanf(s, "%x:%x:%x%n", &domain, &bus, &device, &end) != 3) return 0;
	return !s[end] || (s[end] == '.' && isdigit((unsigned char)s[end + 1]) && !s[end + 2]);
}

/* refused answers what is wrong with a value, NULL when nothing is. */
static const char *refused(enum form form, const struct value *v, char *const *words, int n)
{
	uint64_t whole;
	double real;
	if (v->kind == VALUE_ERROR) return NULL;
	if (!strcmp(words[0], "error")) return "error needs a number";
	if (form == FIELD) {
		if (v->kind == VALUE_NUMBER) return NULL;
		if (n == 2 && field_type(words[0]) >= 0 && number_word(words[1], &whole, &real))
			return NULL;
		return "a field needs a type and a number";
	}
	if (v->kind == VALUE_NONE) return NULL;
	switch (form) {
	case NUMBER:
		return v->kind == VALUE_TEXT ? "a number is needed" : NULL;
	case LIST:
		return is_list(v->text) ? NULL : "a list like 0-15,32 is needed";
	case BUS_ID:
		return is_bus_id(v->text) ? NULL : "a bus id like 00000000:1B:00.0 is needed";
	case EXCLUDED:
		return n == 2 && is_bus_id(words[1]) ? NULL : "a UUID and a bus id are needed";
	case BATCH_WORD:
		return !strcmp(v->text, "wrong") || !strcmp(v->text, "partial")
		               ? NULL
		               : "wrong or partial is needed";
	case SUCCESS_WORD:
		return strcmp(v->text, "success") ? "success is needed" : NULL;
	case TEXT:
	case FIELD:
		break;
	}
	return NULL;
}

const char *key_set(struct table *t, int place, char *const *words, int n)
{
	const struct key *k = find(words[0], place);
	if (!k)
		return place == LIBRARY ? "unknown statement"
		       : place == GPU   ? "unknown key of a GPU"
		                        : "unknown key of a MIG device";
	if (n < 2) return "a value is missing";
	struct value v;
	parse_value(&v, words + 1, n - 1);
	const char *wrong = refused(k->form, &v, words + 1, n - 1);
	if (!wrong) table_put(t, words[0], v);
	return wrong;
}
