package report

import (
	"fmt"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

// TestReadingsDocument: docs/readings.md says what the model does.
func TestReadingsDocument(t *testing.T) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("<!-- Made by a test of monitor/report; go test ./monitor/report -update writes it anew. -->")
	b.WriteString(documentHead)

	for _, section := range []struct {
		title, note string
		first, last monitor.ReadingID
	}{
		{"Load", "Percentages are of the whole GPU. Those of multiprocessors, tensor cores and memory come from counters on the chip (GPM) and are means of the time between two refreshes.", monitor.UtilizationPercent, monitor.DRAMActivePercent},
		{"Memory", "", monitor.MemoryTotalBytes, monitor.MemoryReservedBytes},
		{"Temperature and fans", "", monitor.TemperatureC, monitor.FanPercent},
		{"Power", "", monitor.PowerMW, monitor.EnergyJoules},
		{"Clocks and modes", "", monitor.ClockGraphicsMHz, monitor.ComputeMode},
		{"PCIe", "TX is from the GPU to the host, RX from the host to the GPU.", monitor.PCIeGeneration, monitor.PCIeReplays},
		{"NVLink", "TX is what the GPU sends, RX what it receives.", monitor.NVLinkTxBytesPerSecond, monitor.FabricState},
		{"Memory errors", "", monitor.ECCEnabled, monitor.RecoveryAction},
		{"MIG and the device node", "", monitor.MIGEnabled, monitor.MIGEnabled},
	} {
		line("\n## %s\n", section.title)
		if section.note != "" {
			line("%s\n", section.note)
		}
		line("| JSON key | on screen | unit | what it is | null on | NVML | nvidia-smi | Prometheus |")
		line("|---|---|---|---|---|---|---|---|")
		ids := []monitor.ReadingID{}
		for id := section.first; id <= section.last; id++ {
			ids = append(ids, id)
		}
		if section.first == monitor.MIGEnabled {
			ids = append(ids, monitor.Minor)
		}
		for _, id := range ids {
			line("%s", readingRow(id))
		}
	}

	b.WriteString(documentWords)
	for id := range monitor.NumReadings {
		if words := id.Info().Words; words != nil {
			unknown := "`unknown_N`"
			if id.Info().Kind == monitor.Mask {
				unknown = "`unknown_0x…`"
			}
			line("- `%s`: `%s`; %s for one that this version does not know", id, strings.Join(words, "`, `"), unknown)
		}
	}

	type part struct {
		title, note string
		keys        []schemaKey
	}
	parts := []part{
		{"What a GPU is", "", identityTold},
		{"What Windows counts of a GPU", documentAdapter, adapterTold},
		{"The state of a GPU", "", stateTold},
		{"Each fan", "In `fans`. Null where the driver tells of none, `[]` where it says that there is none.", fanTold},
		{"Each Xid error", "In `xids`: the errors that the driver logged while the program looked, and those that the kernel's log still has. Null where neither can be read, as on Windows.", xidTold},
		{"Each process", documentProcesses, processTold},
		{"The host", "", hostTold},
		{"The driver", "", driverTold},
		{"The platform", "What does not apply to a machine is null without a reason, or an empty list.", platformTold},
	}
	for _, p := range partsTold {
		parts = append(parts, part{p.title, p.note, p.keys})
	}
	for _, part := range parts {
		line("\n## %s\n", part.title)
		if part.note != "" {
			line("%s\n", part.note)
		}
		line("| JSON key | unit | what it is | from |\n|---|---|---|---|")
		for _, k := range part.keys {
			line("| `%s` | %s | %s | %s |", k.name, cell(k.unit), cell(k.what), source(k.from))
		}
	}
	b.WriteString(documentTail)
	document(t, "readings.md", []byte(b.String()))
}

func readingRow(id monitor.ReadingID) string {
	info, told := id.Info(), readingsTold[id]
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s | `%s` |", info.Key, cell(info.Label), cell(info.Unit),
		cell(told.what), cell(told.null), source(info.Function), source(told.smi), MetricName(id))
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// source writes the names of functions, files and fields as code.
func source(s string) string {
	fields := strings.Fields(s)
	for i, f := range fields {
		name := strings.TrimRight(f, ",;")
		if strings.ContainsAny(name, "_./") || strings.HasPrefix(name, "nvml") || strings.HasPrefix(name, "Get") || name == "pstate" {
			fields[i] = "`" + name + "`" + f[len(name):]
		}
	}
	return strings.Join(fields, " ")
}

const documentHead = `
# Readings

Every value that nvtop-lite has of a GPU, where it comes from, what it is called
elsewhere, and where there is none. ` + "`nvtop-lite doctor`" + ` tells of each on your machine:
its value or why there is none, and the function or file that gave it.

A value that is not known is null in the JSON, empty in CSV, and without a sample
among the metrics; it is never 0. The JSON says why beside it, under ` + "`unavailable`" + `:

| reason | |
|---|---|
| ` + "`not_supported`" + ` | this GPU, driver or system cannot give it |
| ` + "`no_permission`" + ` | the driver or the system refused it to this user |
| ` + "`gpu_lost`" + ` | the GPU fell off the bus, or needs a reset |
| ` + "`not_found`" + ` | what was asked about is not there, or not any more |
| ` + "`timeout`" + ` | no answer in time |
| ` + "`driver_error`" + ` | the driver failed; ` + "`errors`" + ` has its code |
| ` + "`implausible`" + ` | the answer cannot be true, such as 4 294 967 295 °C |
| ` + "`not_sampled`" + ` | not read yet: a rate needs two looks |
| ` + "`asleep`" + ` | the GPU sleeps and is not woken for it |

The column *null on* names what else lacks a value: hardware, drivers and modes. Any
reading is null while its GPU is lost, asleep or cannot be opened. The numbers of
drivers are those that had the function first.

NVML names the newest function; older drivers are asked by older functions, where
there are such. The column *nvidia-smi* has the name in ` + "`nvidia-smi --query-gpu`" + `. Its
units differ: MiB for bytes, W for mW. An empty cell: it has none there.
`

const documentWords = `
## Words

`

const documentProcesses = "In `processes`. nvidia-smi has `pid`, `process_name` and `used_gpu_memory` of them in\n" +
	"`--query-compute-apps`, and loads in `nvidia-smi pmon`. On Windows with WDDM NVML has\n" +
	"neither memory nor loads: they are those of Windows' own counters, for each GPU that can be\n" +
	"joined to an adapter of Windows. `sm_percent` is then the load of the engine that the process\n" +
	"uses most, of whatever kind, and `estimated`. `gpu_memory_bytes` is mostly null on WSL, loads\n" +
	"are null with MIG and on GPUs older than Maxwell, and where the driver took no sample of a\n" +
	"process of late. Of a process in another PID namespace, as seen from within a container, and\n" +
	"of another user's under `hidepid`, only what the driver says is known."

const documentAdapter = "Where Windows manages the memory of a GPU (`driver_model` is `wddm`), and the GPU can be joined to\n" +
	"an adapter of Windows: what Task Manager shows as its dedicated and shared memory. They stand beside\n" +
	"what NVML measures, as another count, and are added to nothing; `memory_total_bytes` and\n" +
	"`memory_used_bytes` are those of dedicated memory where NVML has none. Of an integrated GPU on\n" +
	"Windows on ARM NVML's total is a part of the machine's memory that was set aside for it, the carve-out:\n" +
	"what it can have besides is the shared memory. Elsewhere all are null without a reason."

const documentTail = `
## MIG instances

An instance has the keys of a GPU, in ` + "`mig_devices`" + ` of its GPU. NVML gives its memory and
its processes, and on Hopper and later its activity; every other reading of an instance is null,
` + "`not_supported`" + `. While MIG is on the GPU itself has no load of GPU, memory, encoder and
decoder, and no loads of processes: NVML does not measure them then.

## Unified memory

The GPUs of Jetson, DGX Spark and the like use the memory of the host. There
` + "`memory_unified`" + ` is true, ` + "`memory_total_bytes`" + ` is that of the host, ` + "`memory_used_bytes`" + ` the sum
of what the GPU's processes use (where the driver is nvgpu, as on Orin: ` + "`NvMapMemUsed`" + ` of
` + "`/proc/meminfo`" + `, or the total of nvmap's table), and free and reserved are null: what can be had is
` + "`memory_available_bytes`" + ` of the host. Where ` + "`hugepages_total_bytes`" + ` is above 0 that alone is not
reliable: ` + "`hugepages_free_bytes`" + ` can be had, too.

## On a Jetson

Where the driver is nvgpu, as on all from Nano to Orin, these come from files, and every other
reading is null, ` + "`not_supported`" + `. On Thor the same files fill in what NVML does not
tell of temperature, fan, power and clocks.

| JSON key | from |
|---|---|
| ` + "`utilization_percent`" + ` | devfreq's ` + "`load`" + `, to 0.1 % |
| ` + "`memory_total_bytes`" + ` | ` + "`MemTotal`" + ` of ` + "`/proc/meminfo`" + ` |
| ` + "`memory_used_bytes`" + ` | as above: ` + "`/proc/meminfo`" + `, else nvmap's table (root) |
| ` + "`temperature_c`" + ` | the thermal zone of the GPU; ` + "`asleep`" + ` while the GPU has no power |
| ` + "`fan_percent`" + ` and ` + "`fans`" + ` | hwmon, with JetPack 4 ` + "`/sys/devices/pwm-fan`" + `: the fan of the module |
| ` + "`power_mw`" + ` | the rail that feeds the GPU alone; null where none does, as on Orin |
| ` + "`clock_graphics_mhz`" + ` and ` + "`clock_graphics_max_mhz`" + ` | devfreq |
| ` + "`encoder_percent`" + ` and ` + "`decoder_percent`" + ` | devfreq's ` + "`load`" + ` of NVENC and NVDEC, where the kernel has them |
| ` + "`processes`" + ` | nvmap's table (root), with their memory; ` + "`types`" + ` is ` + "`[]`" + `, as the table does not tell |

## What NVML does not give

No reading stands for these, and none is made up:

- the hotspot of the chip, which some tools show on Windows through other interfaces;
- the temperature of GDDR memory, but for a few boards with GDDR6X;
- temperatures of voltage regulators and of the board, and voltages;
- how fast fans turn before driver 565, and on boards that do not measure it;
- how much of the memory's rate is in use, before Hopper: ` + "`memory_utilization_percent`" + ` is a
  share of time;
- how busy multiprocessors and tensor cores are, before Hopper: ` + "`utilization_percent`" + ` is 100
  when one of them has work;
- what each process draws of the power, or moves over PCIe and NVLink;
- managed memory (cudaMallocManaged) in full;
- Xid errors of before the program was started, but for those in the kernel's log;
- frames per second of games, and which program shows on which display.
`
