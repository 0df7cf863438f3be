/*
 * What a model of GPU answers when the scenario says nothing else, in the
 * scenario's own language. An absent key is "not supported".
 */
#include "fake.h"

#define COMMON                                                                  \
	"vbios 96.00.99.00.01\ninforom G520.0200.00.05\n"                       \
	"persistence 1\ncomputemode 0\ndisplay.mode 0\ndisplay.active 0\n"      \
	"vgpu.mode 0\npower.source 0\nmultigpu 0\nirq 120\naddressing 0\n"      \
	"pstate 0\nreasons 0x0\nreasons.supported 0x1ff\n"                      \
	"policy.0 0\npolicy.1 0\npolicy.2 0\npolicy.3 0\npolicy.4 0\n"          \
	"policy.5 0\npolicy.10 0\npolicy.11 0\n"                                \
	"policy.swthermal 0\npolicy.hwthermal 0\npolicy.brake 0\n"              \
	"pcie.replay 0\npcie.rollover 0\npcie.tx 150000\npcie.rx 450000\n"      \
	"encoder 0\ndecoder 0\nencoder.sessions 0\nencoder.capacity 100\n"      \
	"fbc.sessions 0\naccounting 0\nevents 0x18f\nrecovery 0\n"              \
	"bustype 2\ncapabilities 0\npdi 0x5ca1ab1e\nhostname node-1\n"       \
	"cpus 0-15\nnodes 0\nnuma 0\nprocessload 1\n"                           \
	"samples.1 40\nsamples.2 20\n"

#define TURING_ON "jpg 0\nofa 0\n"

#define ENERGY "energy counter 812345678 300000\n"

#define ECC "ecc.mode 1\necc.pending 1\necc.default 1\n"                        \
	"ecc.corrected.volatile 0\necc.uncorrected.volatile 0\n"                \
	"ecc.corrected.aggregate 0\necc.uncorrected.aggregate 0\n"

#define RETIRED "retired 1\nretired.single 0\nretired.double 0\n"               \
	"retired.pending 0\nretired.pending.single 0\nretired.pending.double 0\n"

#define REMAP "remap 1\nremap.corrected 0\nremap.uncorrected 0\n"               \
	"remap.pending 0\nremap.failed 0\nremap.corrected.inactive 0\n"         \
	"remap.uncorrected.inactive 0\nremap.bank.max 640\n"

#define PCIE_ERRORS "pcie.correctable 0\npcie.naksreceived 0\npcie.receiver 0\n" \
	"pcie.badtlp 0\npcie.nakssent 0\npcie.baddllp 0\npcie.nonfatal 0\n"     \
	"pcie.fatal 0\npcie.unsupported 0\npcie.lcrc 0\npcie.lane 0\n"

#define TLIMIT "tlimit.shutdown -8\ntlimit.slowdown -2\ntlimit.memory 0\n"      \
	"tlimit.gpu 0\nmargin 40\n"

#define NVLINK "nvlink.state 1\nnvlink.replay 0\nnvlink.recovery 0\n"           \
	"nvlink.crcflit 0\nnvlink.crcdata 0\nnvlink.ecc 0\nnvlink.power 0\n"    \
	"nvlink.tx counter 1000000 200000\nnvlink.rx counter 2000000 250000\n"  \
	"nvlink.rawtx counter 1100000 220000\nnvlink.rawrx counter 2200000 270000\n"

#define LOAD "process compute 21001 6442450944\nprocess compute 21002 2147483648\n" \
	"usage 21001 35 12 0 0 0 0 age 200\nusage 21002 8 3 0 0 0 0 age 300\n"

const char *const models[] = {
	"h100",
	COMMON TURING_ON ENERGY ECC REMAP PCIE_ERRORS TLIMIT NVLINK
	"name NVIDIA H100 80GB HBM3\nbrand 14\narch 9\ncapability 9.0\ncores 16896\nbuswidth 5120\n"
	"pci.id 0x233010de\npci.subsystem 0x16c110de\n"
	"partnumber 692-2G520-0200-000\ngsp.version 580.95.05\ngsp.mode 1\n"
	"memory.total 85520809984\nmemory.reserved 631242752\nmemory.used 8700035072\n"
	"bar1.total 137438953472\nbar1.used 1572864\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\n"
	"temperature walk 2 30 75 45\ntemperature.memory walk 2 40 85 55\n"
	"threshold.0 92\nthreshold.1 89\nthreshold.2 95\nthreshold.3 87\nfans 0\n"
	"power walk 20000 90000 690000 300000\npower.instant walk 20000 90000 690000 300000\n"
	"power.average walk 10000 90000 690000 300000\n"
	"power.limit 700000\npower.default 700000\npower.min 200000\npower.max 700000\n"
	"clock.graphics 1755\nclock.memory 2619\nclock.video 1440\n"
	"clockmax.graphics 1980\nclockmax.sm 1980\nclockmax.memory 2619\nclockmax.video 1545\n"
	"clockapp.graphics 1980\nclockapp.memory 2619\nclockboost.graphics 1980\n"
	"pcie.gen 5\npcie.width 16\npcie.maxgen 5\npcie.maxwidth 16\npcie.gpumaxgen 5\n"
	"pcie.speed 32000\npcie.maxspeed 32000\n"
	"pcie.txbytes counter 5000000 150000000\npcie.rxbytes counter 9000000 450000000\n"
	"nvlink 18\nnvlink.version 6\nnvlink.speed 26562\nnvlink5.tx unset\n"
	"mig off\nfabric 3\nfabric.clique 0\nfabric.cluster 7a4e0c1b2d3f4a5b8c9d0e1f2a3b4c5d\n"
	"repair.channel 0\nrepair.tpc 0\nfabric.health 0\n"
	"gpm 1\ngpm.1 walk 10 0 100 45\ngpm.2 walk 10 0 100 40\ngpm.3 walk 5 0 100 22\n"
	"gpm.4 walk 3 0 40 10\ngpm.5 walk 8 0 100 30\ngpm.6 walk 3 0 40 3\ngpm.7 walk 8 0 100 25\n"
	"gpm.8 walk 2 0 20 1\ngpm.9 walk 2 0 20 1\ngpm.10 walk 6 0 100 35\ngpm.11 walk 1 0 20 2\n"
	"gpm.12 walk 4 0 60 12\ngpm.13 walk 4 0 60 8\ngpm.20 walk 50 0 4000 150\n"
	"gpm.21 walk 80 0 8000 450\ngpm.30 0\ngpm.40 0\ngpm.50 0\n"
	"gpm.60 walk 500 0 80000 20000\ngpm.61 walk 500 0 80000 21000\n"
	"cc.protected 0\ncc.unprotected 83516416\n" LOAD,

	"a100",
	COMMON TURING_ON ENERGY ECC REMAP PCIE_ERRORS NVLINK
	"name NVIDIA A100-SXM4-40GB\nbrand 14\narch 7\ncapability 8.0\ncores 6912\nbuswidth 5120\n"
	"pci.id 0x20b010de\npci.subsystem 0x134f10de\n"
	"memory.total 42949672960\nmemory.reserved 454033408\nmemory.used 8700035072\n"
	"bar1.total 68719476736\nbar1.used 1572864\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\n"
	"temperature walk 2 28 75 42\ntemperature.memory walk 2 35 85 52\n"
	"threshold.0 92\nthreshold.1 89\nthreshold.2 95\nthreshold.3 85\nfans 0\n"
	"power walk 10000 50000 395000 180000\npower.instant walk 10000 50000 395000 180000\n"
	"power.average walk 8000 50000 395000 180000\n"
	"power.limit 400000\npower.default 400000\npower.min 100000\npower.max 400000\n"
	"clock.graphics 1395\nclock.memory 1215\nclock.video 1275\n"
	"clockmax.graphics 1410\nclockmax.sm 1410\nclockmax.memory 1215\nclockmax.video 1290\n"
	"clockapp.graphics 1095\nclockapp.memory 1215\n"
	"pcie.gen 4\npcie.width 16\npcie.maxgen 4\npcie.maxwidth 16\npcie.gpumaxgen 4\n"
	"pcie.speed 16000\npcie.maxspeed 16000\n"
	"pcie.txbytes counter 5000000 150000000\npcie.rxbytes counter 9000000 450000000\n"
	"nvlink 12\nnvlink.version 4\nnvlink.speed 25781\nmig off\n" LOAD,

	"v100",
	COMMON ENERGY ECC RETIRED NVLINK
	"name Tesla V100-SXM2-16GB\nbrand 2\narch 5\ncapability 7.0\ncores 5120\nbuswidth 4096\n"
	"pci.id 0x1db110de\npci.subsystem 0x121210de\n"
	"memory.total 17179869184\nmemory.reserved 262144000\nmemory.used 8700035072\n"
	"bar1.total 17179869184\nbar1.used 2621440\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\n"
	"temperature walk 2 30 80 48\ntemperature.memory walk 2 35 80 46\n"
	"threshold.0 90\nthreshold.1 87\nthreshold.2 85\nthreshold.3 83\nfans 0\n"
	"power walk 8000 40000 295000 150000\npower.instant walk 8000 40000 295000 150000\n"
	"power.limit 300000\npower.default 300000\npower.min 150000\npower.max 300000\n"
	"clock.graphics 1530\nclock.memory 877\nclock.video 1372\n"
	"clockmax.graphics 1530\nclockmax.sm 1530\nclockmax.memory 877\nclockmax.video 1372\n"
	"pcie.gen 3\npcie.width 16\npcie.maxgen 3\npcie.maxwidth 16\npcie.gpumaxgen 3\n"
	"pcie.speed 8000\npcie.maxspeed 8000\n"
	"nvlink 6\nnvlink.version 2\nnvlink.speed 25781\n" LOAD,

	"t4",
	COMMON TURING_ON ENERGY ECC RETIRED
	"name Tesla T4\nbrand 2\narch 6\ncapability 7.5\ncores 2560\nbuswidth 256\n"
	"pci.id 0x1eb810de\npci.subsystem 0x12a210de\n"
	"memory.total 16106127360\nmemory.reserved 471859200\nmemory.used 8700035072\n"
	"bar1.total 268435456\nbar1.used 2621440\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\ntemperature walk 2 30 85 50\n"
	"threshold.0 96\nthreshold.1 93\nthreshold.3 85\nfans 0\n"
	"power walk 3000 10000 70000 45000\npower.instant walk 3000 10000 70000 45000\n"
	"power.limit 70000\npower.default 70000\npower.min 60000\npower.max 70000\n"
	"clock.graphics 1305\nclock.memory 5000\nclock.video 1215\n"
	"clockmax.graphics 1590\nclockmax.sm 1590\nclockmax.memory 5001\nclockmax.video 1470\n"
	"clockapp.graphics 585\nclockapp.memory 5001\n"
	"pcie.gen 3\npcie.width 16\npcie.maxgen 3\npcie.maxwidth 16\npcie.gpumaxgen 3\n"
	"pcie.speed 8000\npcie.maxspeed 8000\n" LOAD,

	"l40s",
	COMMON TURING_ON ENERGY ECC REMAP PCIE_ERRORS TLIMIT
	"name NVIDIA L40S\nbrand 14\narch 8\ncapability 8.9\ncores 18176\nbuswidth 384\n"
	"pci.id 0x26b910de\npci.subsystem 0x185110de\n"
	"memory.total 48305799168\nmemory.reserved 530579456\nmemory.used 8700035072\n"
	"bar1.total 68719476736\nbar1.used 1572864\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\ntemperature walk 2 30 80 50\n"
	"threshold.0 97\nthreshold.1 92\nthreshold.3 90\nfans 0\n"
	"power walk 10000 35000 345000 180000\npower.instant walk 10000 35000 345000 180000\n"
	"power.average walk 8000 35000 345000 180000\n"
	"power.limit 350000\npower.default 350000\npower.min 100000\npower.max 350000\n"
	"clock.graphics 2490\nclock.memory 9001\nclock.video 1965\n"
	"clockmax.graphics 2520\nclockmax.sm 2520\nclockmax.memory 9001\nclockmax.video 1965\n"
	"pcie.gen 4\npcie.width 16\npcie.maxgen 4\npcie.maxwidth 16\npcie.gpumaxgen 4\n"
	"pcie.speed 16000\npcie.maxspeed 16000\n"
	"pcie.txbytes counter 5000000 150000000\npcie.rxbytes counter 9000000 450000000\n" LOAD,

	"rtx4090",
	COMMON TURING_ON ENERGY TLIMIT
	"name NVIDIA GeForce RTX 4090\nbrand 5\narch 8\ncapability 8.9\ncores 16384\nbuswidth 384\n"
	"pci.id 0x268410de\npci.subsystem 0x167c10de\npci.subclass 0\nserial unset\n"
	"display.mode 1\ndisplay.active 1\npersistence 0\n"
	"memory.total 25757220864\nmemory.reserved 402653184\nmemory.used 3221225472\n"
	"bar1.total 34359738368\nbar1.used 33554432\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\ntemperature walk 2 35 80 55\n"
	"threshold.0 100\nthreshold.1 97\nthreshold.3 90\n"
	"fans 2\nfan.0 walk 3 30 80 45\nfan.1 walk 3 30 80 45\n"
	"power walk 20000 20000 445000 250000\npower.instant walk 20000 20000 445000 250000\n"
	"power.average walk 10000 20000 445000 250000\n"
	"power.limit 450000\npower.default 450000\npower.min 150000\npower.max 600000\n"
	"clock.graphics 2610\nclock.memory 10501\nclock.video 2025\n"
	"clockmax.graphics 3105\nclockmax.sm 3105\nclockmax.memory 10501\nclockmax.video 2415\n"
	"pcie.gen 4\npcie.width 16\npcie.maxgen 4\npcie.maxwidth 16\npcie.gpumaxgen 4\n"
	"pcie.speed 16000\npcie.maxspeed 16000\n"
	"pcie.txbytes counter 5000000 150000000\npcie.rxbytes counter 9000000 450000000\n"
	"process graphics 2301 536870912\nprocess graphics 2402 214748364\n"
	"process compute 31001 2147483648\nusage 31001 38 15 0 0 0 0 age 200\n",

	"gtx1080",
	COMMON
	"name NVIDIA GeForce GTX 1080\nbrand 5\narch 4\ncapability 6.1\ncores 2560\nbuswidth 256\n"
	"pci.id 0x1b8010de\npci.subsystem 0x119e10de\npci.subclass 0\nserial unset\n"
	"display.mode 1\ndisplay.active 1\npersistence 0\n"
	"memory.total 8589934592\nmemory.reserved 85983232\nmemory.used 1610612736\n"
	"bar1.total 268435456\nbar1.used 10485760\n"
	"util walk 10 0 100 35\nutil.memory walk 5 0 60 15\ntemperature walk 2 35 83 58\n"
	"threshold.0 99\nthreshold.1 96\nfans 1\nfan.0 walk 3 27 70 40\n"
	"power walk 8000 10000 178000 90000\npower.instant walk 8000 10000 178000 90000\n"
	"power.limit 180000\npower.default 180000\npower.min 90000\npower.max 216000\n"
	"clock.graphics 1733\nclock.memory 5005\nclock.video 1556\n"
	"clockmax.graphics 1911\nclockmax.sm 1911\nclockmax.memory 5005\nclockmax.video 1708\n"
	"pcie.gen 3\npcie.width 16\npcie.maxgen 3\npcie.maxwidth 16\npcie.gpumaxgen 3\n"
	"pcie.speed 8000\npcie.maxspeed 8000\n"
	"process graphics 1801 268435456\nprocess compute 32001 1073741824\n"
	"usage 32001 30 10 0 0 0 0 age 200\n",

	"k80",
	COMMON ECC RETIRED
	"name Tesla K80\nbrand 2\narch 2\ncapability 3.7\ncores 2496\nbuswidth 384\n"
	"pci.id 0x102d10de\npci.subsystem 0x106c10de\nmultigpu 1\nevents 0x1f\n"
	"memory.total 12884901888\nmemory.reserved 0\nmemory.used 2684354560\n"
	"bar1.total 17179869184\nbar1.used 2621440\n"
	"util walk 10 0 100 45\nutil.memory walk 5 0 60 20\ntemperature walk 2 30 85 50\n"
	"threshold.0 93\nthreshold.1 88\nfans 0\nencoder.capacity unset\n"
	"power walk 5000 25000 148000 80000\n"
	"power.limit 149000\npower.default 149000\npower.min 100000\npower.max 175000\n"
	"clock.graphics 823\nclock.memory 2505\nclock.video 540\n"
	"clockmax.graphics 875\nclockmax.sm 875\nclockmax.memory 2505\nclockmax.video 540\n"
	"clockapp.graphics 562\nclockapp.memory 2505\n"
	"pcie.gen 3\npcie.width 16\npcie.maxgen 3\npcie.maxwidth 16\n" LOAD,

	/* Memory is the host's: both memory calls answer 3. */
	"gb10",
	COMMON TURING_ON ENERGY
	"name NVIDIA GB10\nbrand 14\narch 10\ncapability 12.1\nbusid 0000000F:01:00.0\n"
	"pci.id 0x2e1210de\nserial unset\nencoder.capacity unset\nnuma unset\naddressing 2\n"
	"util walk 10 0 100 40\nutil.memory 0\ntemperature walk 2 35 80 45\n"
	"threshold.0 104\nthreshold.1 99\n"
	"power walk 3000 5000 100000 30000\npower.instant walk 3000 5000 100000 30000\n"
	"clock.graphics 2405\nclock.sm 2405\nclock.memory unset\nclock.video 2100\n"
	"clockmax.graphics 3003\nclockmax.sm 3003\nclockmax.video 3003\n"
	"pcie.gen 1\npcie.width 1\npcie.maxgen 5\npcie.maxwidth 16\npcie.gpumaxgen 5\n"
	"pcie.tx unset\npcie.rx unset\n"
	"process compute 41001 17179869184\nprocess graphics 2101 188743680\n"
	"usage 41001 38 10 0 0 0 0 age 200\n",

	/* Load and process lists with real sizes, little else. */
	"thor",
	"name NVIDIA Thor\nbrand 14\narch 10\ncapability 11.0\nbusid 00000000:01:00.0\n"
	"serial unset\nutil walk 10 0 100 30\nutil.memory 0\ntemperature unset\n"
	"processload 1\nevents 0x8\ncpus 0-13\n"
	"clock.graphics 1575\nclock.sm 1575\nclockmax.graphics 1575\nclockmax.sm 1575\n"
	"process compute 42001 4294967296\nprocess graphics 42001 4294967296\n"
	"process graphics 2201 104857600\n",

	/* One device with a name, everything else not supported. */
	"orin",
	"name Orin (nvgpu)\nserial unset\nprocess compute error 3\nprocess graphics error 3\n"
	"process mps error 3\n",

	NULL,
};
