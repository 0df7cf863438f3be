// Command table measures the program and prints the tables of BENCHMARKS.md:
//
//	go -C bench run ./table
//
// It takes some five minutes on a machine that does nothing else.
package main

import (
	"cmp"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	time := flag.String("time", "1s", "how long each benchmark of a frame runs")
	seconds := flag.Int("seconds", 30, "how long each run of a whole program is watched")
	flag.Parse()
	if err := tables(*time, *seconds); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// line is what one benchmark found: a value for each unit.
type line struct {
	name   string
	values map[string]float64
}

func tables(time string, seconds int) error {
	fmt.Printf("%s, %d CPUs (%s), %s\n", system(), runtime.NumCPU(), processor(), runtime.Version())
	refresh, err := benchmarks("../monitor/driver", "GridRefresh", "20x")
	if err != nil {
		return err
	}
	frame, err := benchmarks(".", "GridFrame", time)
	if err != nil {
		return err
	}
	fmt.Printf("\n### A refresh and a frame\n\n| GPUs | processes | calls | calls a GPU | µs a refresh | allocations | µs a frame | bytes a frame | allocations |\n|%s\n", strings.Repeat("---:|", 9))
	for i, r := range refresh {
		gpus, processes := sizes(r.name)
		f := frame[i].values
		fmt.Printf("| %d | %d | %.0f | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", gpus, processes,
			r.values["calls"], r.values["calls"]/float64(gpus), r.values["ns/op"]/1e3, r.values["allocs/op"],
			f["ns/op"]/1e3, f["B/frame"], f["allocs/op"])
	}
	first, err := benchmarks("../internal/termtest", "FirstFrame", "20x")
	if err != nil {
		return err
	}
	fmt.Print("\n### Start to the first frame\n\n| GPUs | ms | of them the driver's initialisation |\n|---:|---:|---:|\n")
	for _, f := range first {
		fmt.Printf("| %s | %.0f | %.0f |\n", strings.TrimSuffix(last(f.name), "gpus"), f.values["ns/op"]/1e6, f.values["init-ms"])
	}
	steady, err := benchmarks("../internal/termtest", "SteadyState", strconv.Itoa(seconds)+"x")
	if err != nil {
		return err
	}
	fmt.Print("\n### The whole program, once a second\n\n| GPUs | program | % of a core | calls a GPU and second | bytes a second | MiB at most |\n|---:|---|---:|---:|---:|---:|\n")
	for _, s := range steady {
		gpus, program, _ := strings.Cut(strings.TrimPrefix(s.name, "BenchmarkSteadyState/"), "/")
		fmt.Printf("| %s | %s | %.2f | %.1f | %.0f | %.1f |\n", strings.TrimSuffix(gpus, "gpus"), strings.ReplaceAll(program, "_", " "), s.values["%core"], s.values["calls/GPU/s"], s.values["bytes/s"], s.values["MiB"])
	}
	return bySize()
}

// benchmarks runs benchmarks of a folder.
func benchmarks(folder, name, time string) ([]line, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", name, "-benchtime", time, "-timeout", "60m", ".")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("benchmarks %s: %w\n%s", name, err, out)
	}
	var list []line
	for _, text := range strings.Split(string(out), "\n") {
		f := strings.Fields(text)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark"+name) {
			continue
		}
		name := f[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 { // the number of CPUs
			name = name[:i]
		}
		l := line{name, map[string]float64{}}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			l.values[f[i+1]] = v
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no benchmark %s in %s", name, folder)
	}
	return list, nil
}

// sizes are the numbers in BenchmarkX/gpus=N/processes=N.
func sizes(name string) (gpus, processes int) {
	_, _ = fmt.Sscanf(name[strings.IndexByte(name, '/'):], "/gpus=%d/processes=%d", &gpus, &processes)
	return gpus, processes
}

func last(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// bySize prints how large the program is, and which packages that is.
func bySize() error {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Print("\n### Size\n\n| file | bytes |\n|---|---:|\n")
	for _, target := range []string{"linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"} {
		file := filepath.Join(dir, "stripped")
		if err := build(target, file, "-ldflags=-s -w"); err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Printf("| %s, stripped | %d |\n", target, info.Size())
	}
	file := filepath.Join(dir, "symbols")
	if err := build("linux/amd64", file, "-ldflags=-w"); err != nil {
		return err
	}
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	packages := map[string]int{}
	total := 0
	for _, symbol := range symbols {
		if i := int(symbol.Section); i >= len(f.Sections) || f.Sections[i].Type != elf.SHT_PROGBITS {
			continue // what is zero at the start is not in the file
		}
		packages[packageOf(symbol.Name)] += int(symbol.Size)
		total += int(symbol.Size)
	}
	names := make([]string, 0, len(packages))
	for name := range packages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(packages[b], packages[a]), cmp.Compare(a, b)) })
	fmt.Printf("\n| package (linux/amd64) | kB of %d |\n|---|---:|\n", total/1000)
	for _, name := range names[:min(20, len(names))] {
		fmt.Printf("| %s | %d |\n", name, packages[name]/1000)
	}
	return nil
}

// packageOf is the package of a symbol.
func packageOf(symbol string) string {
	for _, made := range []string{"type:", "go:", "runtime.pclntab", "runtime.findfunctab"} {
		if strings.HasPrefix(symbol, made) {
			return "(tables of the linker)"
		}
	}
	symbol, _, _ = strings.Cut(symbol, "[") // of type parameters
	at := strings.LastIndexByte(symbol, '/') + 1
	name, _, _ := strings.Cut(symbol[at:], ".")
	return symbol[:at] + name
}

func build(target, file string, flags ...string) error {
	system, arch, _ := strings.Cut(target, "/")
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-buildvcs=false"}, flags...), "-o", file, "./cmd/nvtop-lite")...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+system, "GOARCH="+arch)
	return cmd.Run()
}

// system names the operating system.
func system() string {
	text, _ := os.ReadFile("/etc/os-release")
	for _, l := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(l, "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return runtime.GOOS
}

// processor names the processor.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for _, l := range strings.Split(string(text), "\n") {
		if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
