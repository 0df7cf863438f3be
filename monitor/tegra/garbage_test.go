package tegra_test

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"nvtop-lite/internal/fixture"
	"nvtop-lite/monitor"
)

// nonsense is what may stand in a file in place of what belongs there.
var nonsense = []string{
	"", "\x00\xff\x1b[2J\x80\xfe\n\x00garbage\xc3", "0\n", "-1\n", "2000000000\n", "9223372036854775807\n", "9223372036854775808\n", isHuge, isFolder,
}

// isHuge and isFolder stand for a file of 1 MiB, and for a folder in place of the
// file.
const isHuge, isFolder = "1 MiB", "a folder"

// unread are files that nothing here reads: of processes, of what is no sensor, and
// what else a driver tells of one.
var unread = regexp.MustCompile(`^proc/[0-9]|^proc/self|^proc/driver|^dev/|^etc/|^sys/(module|bus/pci)|/(clk_(max|min|prepare)\w*|min_freq|available_\w+|max_state|mode|\w+_(max|crit|alarm|throt_en)|runtime_status|control)$`)

// TestNonsenseInFiles: whatever stands in one of its files, or where a folder stands
// in its place, a module is read to the end, no number is shown that cannot be, and
// each one that is missing has its reason.
func TestNonsenseInFiles(t *testing.T) {
	for _, machine := range []string{"orin-agx-jetpack6", "orin-nano-jetpack6", "nano-jetpack4", "thor-jetpack7.2"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				root := fixture.Machine(t, machine)
				files := filesOf(t, root)
				if len(files) < 50 {
					t.Fatalf("%d files", len(files))
				}
				// Files that are far apart at once: what one says does not hide what is made
				// of another.
				const apart = 16
				with := stuff(t)
				aside := filepath.Join(t.TempDir(), "aside")
				for _, content := range nonsense {
					for first := range apart {
						var spoilt []string
						for i := first; i < len(files); i += apart {
							name := filepath.Join(root, files[i])
							must(t, os.Rename(name, aside+strconv.Itoa(i)))
							spoil(t, name, with[content])
							spoilt = append(spoilt, files[i])
						}
						checkRead(t, root, strings.Join(spoilt, " ")+" are "+content)
						for i := first; i < len(files); i += apart {
							name := filepath.Join(root, files[i])
							must(t, os.Remove(name))
							must(t, os.Rename(aside+strconv.Itoa(i), name))
						}
					}
				}
			})
		})
	}
}

// TestNonsenseInAllFiles does the same to all of them at once.
func TestNonsenseInAllFiles(t *testing.T) {
	for _, machine := range fixture.Names() {
		if !strings.Contains(machine, "jetpack") {
			continue
		}
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				root := fixture.Machine(t, machine)
				with, files := stuff(t), filesOf(t, root)
				for _, content := range nonsense {
					for _, name := range files {
						must(t, os.Remove(filepath.Join(root, name)))
						spoil(t, filepath.Join(root, name), with[content])
					}
					checkRead(t, root, "all files are "+content)
				}
			})
		})
	}
}

// filesOf lists the files below a root that matter.
func filesOf(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, err = filepath.Rel(root, name); d.Type().IsRegular() && !unread.MatchString(name) {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// stuff makes files of the nonsense; "" is that of a folder.
func stuff(t *testing.T) (files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files = map[string]string{isFolder: ""}
	for i, content := range nonsense {
		if content == isFolder {
			continue
		}
		files[content] = filepath.Join(dir, strconv.Itoa(i))
		if content == isHuge {
			content = strings.Repeat("7", 1<<20)
		}
		must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte(content), 0o644))
	}
	return files
}

// spoil puts a file of stuff where a file was.
func spoil(t *testing.T, name, with string) {
	t.Helper()
	if with == "" {
		must(t, os.Mkdir(name, 0o755))
		return
	}
	must(t, os.Link(with, name))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkRead reads all of a machine, and checks that it can be true.
func checkRead(t *testing.T, root, where string) {
	t.Helper()
	c := checker{t, where}
	p := module(root).Platform()
	for _, text := range []monitor.Text{p.Model, p.SoC, p.L4T, p.JetPack, p.PowerMode, p.Governor} {
		c.text("platform", text)
	}
	c.reading("EMC", p.EMCMHz, monitor.ClockMemoryMHz.Range())
	c.reading("EMC", p.EMCPercent, monitor.ShareRange)
	c.reading("module", p.Power(), monitor.Range{High: float64(len(p.Parts)) * monitor.PowerMW.Range().High})
	for _, part := range p.Parts {
		c.text(part.Name, monitor.OfText(part.Name))
		ranges := map[monitor.PartKind][]monitor.Range{
			monitor.Rail:   {monitor.PowerMW.Range()},
			monitor.Engine: {{High: 1}, monitor.ClockVideoMHz.Range(), monitor.ShareRange},
		}[part.Kind]
		for i, info := range part.Kind.Info().Readings {
			in := monitor.Range{High: 1e10}
			if ranges != nil {
				in = ranges[i]
			}
			c.reading(part.Name+" "+info.Key, part.Readings[i], in)
		}
	}
	nvml := &standin{}
	if strings.Contains(t.Name(), "thor") {
		nvml.gives(thorCard(nil))
	}
	s := source(root, nvml)
	for _, d := range list(t, s) {
		r := &row{}
		for range 2 { // the second of Thor is read before NVML is asked
			s.Read(d, monitor.Everything, r)
			c.gpu(r)
		}
	}
}

// TestNonsenseInMeminfo: sizes that no machine has are none, and what is larger than
// all of the memory is not used.
func TestNonsenseInMeminfo(t *testing.T) {
	root := fixture.Machine(t, "orin-agx-jetpack6")
	for content, want := range map[string]string{
		"MemTotal: 64349140 kB\nNvMapMemUsed: 4041996 kB\n":            "4.139003904e+09 of 6.589351936e+10",
		"MemTotal: 64349140 kB\nNvMapMemUsed: 64349141 kB\n":           "implausible of 6.589351936e+10",
		"MemTotal: 0 kB\nNvMapMemUsed: 4041996 kB\n":                   "4.139003904e+09 of implausible",
		"MemTotal: 1099511627777 kB\nNvMapMemUsed: 1099511627777 kB\n": "implausible of implausible",
		"MemTotal: 4503599627370496 kB\nNvMapMemUsed: 4041996 kB\n":    "4.139003904e+09 of implausible",
		"MemTotal: 18446744073709551615 kB\nNvMapMemUsed: -1 kB\n":     "4.139003904e+09 of not_supported", // by nvmap's table
		"NvMapMemUsed: 4041996 kB\n":                                   "4.139003904e+09 of not_supported",
		"MemTotal: 64349140 kB\n":                                      "4.139003904e+09 of 6.589351936e+10",
	} {
		synctest.Test(t, func(t *testing.T) {
			fixture.Write(t, root, "proc/meminfo", content)
			s := source(root, &standin{})
			r := refresh(s, list(t, s)[0])
			if got := value(r.Readings[monitor.MemoryUsedBytes]) + " of " + value(r.Readings[monitor.MemoryTotalBytes]); got != want {
				t.Errorf("%q: %s, want %s", content, got, want)
			}
		})
	}
}

// TestMemoryClock: a load is shown only beside the clock that it is reckoned from.
func TestMemoryClock(t *testing.T) {
	const clk, busy = "sys/kernel/debug/bpmp/debug/clk/emc/rate", "sys/kernel/debug/cactmon/mc_all"
	root := fixture.Machine(t, "orin-agx-jetpack6")
	for _, tt := range []struct{ clk, busy, want string }{
		{"3199000000\n", "799750\n", "3199 MHz, 25 %"},
		{"3199000000\n", "3199001\n", "3199 MHz, implausible %"},
		{"3199000000\n", "-1\n", "3199 MHz, implausible %"},
		{"0\n", "0\n", "0 MHz, implausible %"},
		{"0\n", "1\n", "0 MHz, implausible %"},
		{"-1\n", "0\n", "implausible MHz, implausible %"},
		{"9000000000000000000\n", "799750\n", "implausible MHz, implausible %"},
	} {
		synctest.Test(t, func(t *testing.T) {
			fixture.Write(t, root, clk, tt.clk)
			fixture.Write(t, root, busy, tt.busy)
			p := module(root).Platform()
			if got := value(p.EMCMHz) + " MHz, " + value(p.EMCPercent) + " %"; got != tt.want {
				t.Errorf("%+v: %s", tt, got)
			}
		})
	}
}

// checker checks what is shown of a machine, which is told of in where.
type checker struct {
	t     *testing.T
	where string
}

func (c *checker) text(what string, text monitor.Text) {
	c.t.Helper()
	if !utf8.ValidString(text.Value) || text.Known() && text.Value == "" || !text.Known() && text.Reason == monitor.NotSampled {
		c.t.Errorf("%q: %s is %q, %v", c.where, what, text.Value, text.Reason)
	}
}

func (c *checker) reading(what string, r monitor.Reading, in monitor.Range) {
	c.t.Helper()
	// A zero below zero was no zero before it was rounded.
	if v, ok := r.Float(); ok && (v < in.Low || v > in.High || math.Signbit(v) && v == 0) || r.Reason == monitor.NotSampled {
		c.t.Errorf("%q: %s is %v, %v", c.where, what, v, r.Reason)
	}
}

func (c *checker) gpu(r *row) {
	c.t.Helper()
	c.text("name", r.GPU.Name)
	memory := monitor.MemoryRange
	if total, ok := r.Readings[monitor.MemoryTotalBytes].Float(); ok {
		memory.High = total
	}
	for id := range monitor.NumReadings {
		in := id.Range()
		if id == monitor.MemoryUsedBytes {
			in = memory
		}
		c.reading(id.Info().Key, r.Readings[id], in)
	}
	for _, f := range r.GPU.Fans {
		c.reading("fan", f.Percent, monitor.FanRange)
		c.reading("fan's target", f.TargetPercent, monitor.FanRange)
		c.reading("fan's RPM", f.RPM, monitor.RPMRange)
	}
	for _, p := range r.GPU.Processes {
		c.reading("memory of a process", p.GPUMemoryBytes, memory)
		c.text("process", p.Name)
	}
	for _, st := range []monitor.Status{r.FansStatus, r.ProcStatus} {
		if st.Reason == monitor.NotSampled {
			c.t.Errorf("%q: a list without a reason", c.where)
		}
	}
}
