// Package doctor finds out what is there of driver, library and GPUs, what is
// missing and why, and says it on one page, fit for a bug report, and as JSON.
//
// The driver's library is used in the driver process alone: a [Watch] there
// tells of every call before it is made and after it returned, so that a call
// that hangs, or ends that process, can be named. What [Examine] gathers is
// plain data; what it means is decided in one place, judge.go.
package doctor

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/internal/json"
	"nvtop-lite/monitor"
	"nvtop-lite/monitor/apart"
)

// Schema is the word that tells what the keys of the JSON mean.
const Schema = "nvtop-lite-doctor/1"

// Word is a text that is null in JSON where there is none.
type Word string

// AppendJSON appends the text or null.
func (w Word) AppendJSON(dst []byte) []byte {
	if w == "" {
		return append(dst, "null"...)
	}
	return json.Append(dst, string(w))
}

// Found is what was found. Its form is that of the JSON.
type Found struct {
	Schema      string      `json:"schema"`
	Time        time.Time   `json:"time"`
	Source      string      `json:"source"` // live or demo
	OK          bool        `json:"ok"`     // no problem is critical
	Problems    []Problem   `json:"problems"`
	Program     Program     `json:"program"`
	System      System      `json:"system"`
	Environment Environment `json:"environment"`
	Driver      Driver      `json:"driver"`
	Library     Library     `json:"library"`
	Nodes       []Node      `json:"device_nodes"`
	PCI         []PCI       `json:"pci_devices"`
	Integrated  Integrated  `json:"integrated"`
	GPUs        []GPU       `json:"gpus"`
	Windows     any         `json:"windows"` // what Windows tells of its adapters, see package wddm; null elsewhere
	Facts       []string    `json:"-"`       // the same for the page
	Calls       []Call      `json:"calls"`   // those about no GPU
	Terminal    Terminal    `json:"terminal"`

	failed   *monitor.OpenError // why there is no GPU
	warnings []monitor.Warning
	pending  []call // calls that have not returned
	late     bool   // the driver process was not waited for any longer
	unlooked bool   // nor was the look at the machine's files
	waited   time.Duration
	explicit string // the library that was asked for
	own      string // a library of the distribution, under WSL
	jetson   jetson
	host     monitor.Host
}

// Problem is something wrong, or worth knowing, with its cause and what to do.
type Problem struct {
	Code  string `json:"code"`
	Level string `json:"level"` // critical, warning or info
	GPUs  []int  `json:"gpus"`  // empty where it is about none in particular
	Text  string `json:"text"`  // what is wrong
	Cause Word   `json:"cause"`
	Cure  Word   `json:"cure"`
}

// Program is this program.
type Program struct {
	_        [0]func() // not comparable, nor are the others that have this: that makes the program 2 kB larger
	Version  string    `json:"version"`
	OS       string    `json:"os"`
	Arch     string    `json:"arch"`
	Go       string    `json:"go"`
	Revision Word      `json:"revision"` // of the source, where the build knows it
	Modified bool      `json:"modified"` // the source was changed after that
}

// System is the machine as far as it matters to a driver.
type System struct {
	_            [0]func()
	Kernel       Word   `json:"kernel"`
	Platform     string `json:"platform"`
	Model        Word   `json:"model"`
	SoC          Word   `json:"soc"`
	L4T          Word   `json:"l4t"`
	JetPack      Word   `json:"jetpack"`
	Container    Word   `json:"container"`     // its runtime, unknown where only its namespace shows; null: none
	PIDNamespace string `json:"pid_namespace"` // initial, other or unknown
	UID          *int   `json:"uid"`
	Root         Word   `json:"root"` // the folder that was read in the place of /
}

// Environment is all that is told of the environment; null for what is not set.
type Environment struct {
	VisibleDevices     *string `json:"NVIDIA_VISIBLE_DEVICES"`
	DriverCapabilities *string `json:"NVIDIA_DRIVER_CAPABILITIES"`
	CUDAVisibleDevices *string `json:"CUDA_VISIBLE_DEVICES"`
	SlurmJobGPUs       *string `json:"SLURM_JOB_GPUS"`
}

// Driver is the driver in its parts.
type Driver struct {
	_            [0]func()
	Version      Word `json:"version"`
	NVML         Word `json:"nvml_version"`
	CUDA         Word `json:"cuda_version"`
	KernelModule Word `json:"kernel_module_version"`
	Library      Word `json:"library_version"` // by the name of its file
	// Fit says whether module and library are of one version; null where one
	// of them is not known.
	Fit      *bool `json:"versions_fit"`
	Evidence Word  `json:"evidence"` // the first sign of a loaded driver
	Nouveau  bool  `json:"nouveau"`  // the other driver for such GPUs is loaded
}

// Library is the search for NVML.
type Library struct {
	Path      Word     `json:"path"` // of the one in use
	Tried     []Try    `json:"tried"`
	Functions *int     `json:"functions"`       // how many of NVML's it has
	Known     int      `json:"functions_known"` // how many this program knows
	Missing   []string `json:"missing"`         // those that were wanted and are not there
}

// Try is one library that was tried.
type Try struct {
	Path   string `json:"path"`
	File   Word   `json:"file"`   // what it led to
	Answer string `json:"answer"` // ok, loads, not found, or why not
}

// Node is a device node of the driver.
type Node struct {
	_      [0]func()
	Path   string `json:"path"`
	Mode   string `json:"mode"` // as ls -l shows it
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Device Word   `json:"device"` // major:minor
	Access string `json:"access"` // ok, or the system's name for why not
}

// PCI is a GPU of NVIDIA as the kernel sees it, whatever its driver.
type PCI struct {
	_      [0]func()
	BusID  string `json:"bus_id"`
	Device Word   `json:"device"` // its id
	Driver Word   `json:"driver"`
	Power  Word   `json:"power"` // its runtime power state
}

// GPU is one GPU with what was read of it.
type GPU struct {
	Index        *int      `json:"index"`
	UUID         Word      `json:"uuid"`
	BusID        Word      `json:"pci_bus_id"`
	Name         Word      `json:"name"`
	Architecture Word      `json:"architecture"`
	State        string    `json:"state"`
	StateReason  Word      `json:"state_reason"`
	StateAnswer  Word      `json:"state_answer"`   // NVML's name for it
	Integrated   bool      `json:"integrated"`     // it is part of the processor
	Unified      bool      `json:"memory_unified"` // its memory is the machine's
	Model        Word      `json:"driver_model"`   // of Windows' driver
	Health       []Health  `json:"health"`
	Readings     []Reading `json:"readings"`
	Calls        int       `json:"calls"`        // how many were made
	Micros       float64   `json:"microseconds"` // how long they took

	blocked string
	adapter *monitor.Adapter // what Windows counts
}

// Health is a finding as in the other outputs.
type Health struct {
	Code  string `json:"code"`
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Reading is what came of one reading or list.
type Reading struct {
	Key       string   `json:"key"`
	Value     any      `json:"value"`        // for a list how long it is
	Reason    Word     `json:"reason"`       // why there is no value
	Answer    Word     `json:"answer"`       // NVML's name for what the last call said
	Functions []string `json:"functions"`    // what gave it, or refused to: NVML's, or a file
	Micros    *float64 `json:"microseconds"` // how long that took; null where no call was made
	Passed    []Passed `json:"passed_over"`
}

// Passed is a function that was passed over for an older one.
type Passed struct {
	Function string `json:"function"`
	Answer   string `json:"answer"` // NVML's name for it, or missing
}

// Call is a call about no GPU.
type Call struct {
	Function string   `json:"function"`
	Answer   Word     `json:"answer"`       // null: it has not returned
	Micros   *float64 `json:"microseconds"` // null: it has not returned
}

// Terminal is what standard output is.
type Terminal struct {
	Is      bool   `json:"terminal"`
	Columns *int   `json:"columns"`
	Rows    *int   `json:"rows"`
	Colors  string `json:"colors"` // never, 16, 256 or truecolor
	UTF8    bool   `json:"utf8"`
}

// Options are what Examine needs to know.
type Options struct {
	Version  string // of the program
	Demo     bool
	Library  string // the one that was asked for
	Root     string
	Timeout  time.Duration
	Lookup   func(string) (string, bool) // the environment
	Terminal Terminal
}

// lookPatience is how long the files of the machine may take where no time is
// left: those of /proc come at once, or do not come.
const lookPatience = 100 * time.Millisecond

// Examine hears what the driver process found, looks at the machine, and judges.
// It ends within the timeout, whatever hangs.
func Examine(events <-chan apart.Event, o Options) *Found {
	begin := time.Now()
	limit := time.NewTimer(o.Timeout)
	defer limit.Stop()
	f := &Found{
		Schema: Schema, Time: begin.UTC().Round(0), Source: "live", Program: program(o.Version),
		Terminal: o.Terminal, explicit: o.Library,
	}
	if o.Demo {
		f.Source = "demo"
	}
	looked := make(chan surroundings, 1)
	go func() {
		if o.Demo { // which is wholly simulated
			looked <- surroundings{system: System{PIDNamespace: "unknown"}}
			return
		}
		looked <- look(o.Root)
	}()
	var account account
	var snap *monitor.Snapshot
	for done := false; !done; {
		select {
		case e, ok := <-events:
			switch {
			case !ok || e.Done:
				done = true
			case e.Failed != nil:
				f.failed, done = e.Failed, true
			case e.Note != nil:
				account.add(e.Note)
			case e.Snapshot != nil:
				snap = e.Snapshot
			}
		case <-limit.C:
			f.late, done = true, true
		}
	}
	f.waited = time.Since(begin)
	if f.late {
		limit.Reset(lookPatience)
	}
	select {
	case s := <-looked:
		f.System, f.Driver, f.Nodes, f.PCI = s.system, s.driver, s.nodes, s.pci
		f.own = s.own
		f.takeJetson(s.jetson)
	case <-limit.C:
		f.unlooked, f.System.Platform, f.System.PIDNamespace = true, "unknown", "unknown"
	}
	if !o.Demo {
		f.Environment = environment(o.Lookup)
	}
	account.fill(f)
	if snap != nil {
		f.take(snap, &account, o.Demo)
	}
	f.fit()
	scrub(reflect.ValueOf(f).Elem())
	f.judge()
	scrub(reflect.ValueOf(f).Elem())
	return f
}

// take takes what a snapshot says.
func (f *Found) take(s *monitor.Snapshot, a *account, demo bool) {
	f.warnings, f.host = s.Warnings, s.Host
	if demo {
		f.System.Platform, f.System.Model = s.Platform.Kind, word(s.Platform.Model)
	}
	f.Driver.Version, f.Driver.NVML, f.Driver.CUDA = word(s.Driver.Version), word(s.Driver.NVMLVersion), word(s.Driver.CUDAVersion)
	if f.Library.Path == "" {
		f.Library.Path = word(s.Driver.Library)
	}
	for i := range s.GPUs {
		f.GPUs = append(f.GPUs, f.gpuOf(&s.GPUs[i], a))
	}
	f.takeModule(&s.Platform, a.memory)
}

// word is a text, or none.
//
//go:noinline
func word(t monitor.Text) Word {
	if !t.Known() {
		return ""
	}
	return Word(t.Value)
}

// fit compares the versions of kernel module and library.
func (f *Found) fit() {
	library := cmp.Or(f.Driver.Version, f.Driver.Library)
	if f.failed != nil && f.failed.Cause == monitor.CauseVersionMismatch {
		f.Driver.Fit = new(bool)
	} else if library != "" && f.Driver.KernelModule != "" {
		same := library == f.Driver.KernelModule
		f.Driver.Fit = &same
	}
}

// scrub takes control sequences out of all text.
func scrub(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(ansi.Clean(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scrub(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			scrub(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			scrub(v.Elem())
		}
	}
}

// Append appends f as JSON, on one line.
func (f *Found) Append(dst []byte) []byte {
	return append(json.Append(dst, f.whole()), '\n')
}

// whole is f with empty lists in the place of those that are nil.
func (f *Found) whole() *Found {
	c := *f
	c.Problems, c.Nodes, c.PCI, c.GPUs, c.Calls = slices.Clone(some(c.Problems)), some(c.Nodes), some(c.PCI), slices.Clone(some(c.GPUs)), some(c.Calls)
	for i := range c.Problems {
		c.Problems[i].GPUs = some(c.Problems[i].GPUs)
	}
	c.Integrated.Readings = whole(c.Integrated.Readings)
	c.Library.Tried, c.Library.Missing = some(c.Library.Tried), some(c.Library.Missing)
	for i := range c.GPUs {
		g := &c.GPUs[i]
		g.Health, g.Readings = some(g.Health), whole(g.Readings)
	}
	return &c
}

// whole is such a copy of readings.
func whole(list []Reading) []Reading {
	list = slices.Clone(some(list))
	for i := range list {
		r := &list[i]
		r.Functions, r.Passed = some(r.Functions), some(r.Passed)
	}
	return list
}

func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
