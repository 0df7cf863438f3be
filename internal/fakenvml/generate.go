package fakenvml

import (
	"bufio"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// symbolTable lists every NVML function with the driver that brought it and,
// where it is gone, the last driver that had it.
//
//go:embed symbols.csv
var symbolTable string

// generation is one driver whose library can be built.
type generation struct {
	name      string
	driver    string
	cuda      int
	nvml      string
	gpmMax    int // metrics of GPM, 0 without GPM
	processV3 int // entry size behind _v3, 0 where it is absent
}

var generations = []generation{
	{"390", "390.157", 9010, "9.390.157", 0, 0},
	{"450", "450.248.02", 11000, "11.450.248.02", 0, 0},
	{"470", "470.256.02", 11040, "11.470.256.02", 0, 0},
	{"510", "510.108.03", 11060, "11.510.108.03", 0, 24},
	{"525", "525.147.05", 12000, "12.525.147.05", 98, 24},
	{"535.54", "535.54.03", 12020, "12.535.54.03", 98, 32},
	{"535.98", "535.98", 12020, "12.535.98", 98, 0},
	{"550", "550.163.01", 12040, "12.550.163.01", 98, 24},
	{"580", "580.95.05", 13000, "13.580.95.05", 210, 24},
	{"615", "615.36.01", 13040, "13.615.36.01", 477, 24},
}

// Generations are the names of the drivers that Build knows, oldest first.
func Generations() []string {
	names := make([]string, len(generations))
	for i, g := range generations {
		names[i] = g.name
	}
	return names
}

func findGeneration(name string) (generation, error) {
	for _, g := range generations {
		if g.name == name {
			return g, nil
		}
	}
	return generation{}, fmt.Errorf("no driver generation %q; there are %s", name, strings.Join(Generations(), ", "))
}

// compareDrivers orders version numbers like "535.104.05".
func compareDrivers(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		x, y := 0, 0
		if i < len(as) {
			x, _ = strconv.Atoi(as[i])
		}
		if i < len(bs) {
			y, _ = strconv.Atoi(bs[i])
		}
		if x != y {
			return x - y
		}
	}
	return 0
}

// Symbols are the names that the library of a generation exports, sorted:
// those of its header, and what real libraries export besides.
func Symbols(name string) ([]string, error) {
	g, err := findGeneration(name)
	if err != nil {
		return nil, err
	}
	var names []string
	lines := bufio.NewScanner(strings.NewReader(symbolTable))
	lines.Scan() // the headings
	for lines.Scan() {
		row := strings.Split(lines.Text(), ",")
		if len(row) != 4 {
			return nil, fmt.Errorf("symbols.csv: %q has not four columns", lines.Text())
		}
		function, first, cuda, last := row[0], row[1], row[2], row[3]
		switch {
		case first == "" && cuda == "13.4.92":
			first = "615"
		case first == "":
			continue // no driver ever had it
		}
		if compareDrivers(first, g.driver) > 0 || last != "" && compareDrivers(last, g.driver) < 0 {
			continue
		}
		if strings.HasSuffix(function, "RunningProcesses_v3") && g.processV3 == 0 {
			continue
		}
		names = append(names, function)
	}
	names = append(names, undeclared(g)...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// undeclared are functions that libraries export although their header does
// not have them (yet, or any more).
func undeclared(g generation) []string {
	var names []string
	if compareDrivers(g.driver, "470.42") < 0 {
		names = append(names, "nvmlDeviceGetMPSComputeRunningProcesses")
	}
	if compareDrivers(g.driver, "460.91.03") > 0 && compareDrivers(g.driver, "555") < 0 {
		names = append(names, "nvmlGetBlacklistDeviceCount", "nvmlGetBlacklistDeviceInfoByIndex")
	}
	return names
}

// privateSymbols are exported for tests that have the library in their process.
var privateSymbols = []string{"fakenvml_calls", "fakenvml_calls_gpu", "fakenvml_most_active"}

var implementation = regexp.MustCompile(`(?m)^(?:API[A-Z_0-9]*\(|const char \*)(nvml\w+)`)

// implemented finds the functions that the C sources define; all others are stubs.
func (s *sources) implemented() map[string]bool {
	found := map[string]bool{}
	for _, file := range s.files {
		text := s.text[file]
		for _, m := range implementation.FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
	}
	return found
}

// generatedC is the C file that makes the common sources the library of one generation.
func generatedC(g generation, symbols []string, done map[string]bool) (string, error) {
	var known []string // what faults may name: a scenario is for every generation
	for _, name := range Generations() {
		more, err := Symbols(name)
		if err != nil {
			return "", err
		}
		known = append(known, more...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var b strings.Builder
	parts := strings.Split(g.driver, ".")
	minor, _ := strconv.Atoi(parts[1])
	fmt.Fprintf(&b, "#include <stddef.h>\n")
	fmt.Fprintf(&b, "const char generation_name[] = %q;\n", g.name)
	fmt.Fprintf(&b, "const char generation_driver[] = %q;\n", g.driver)
	fmt.Fprintf(&b, "const char generation_nvml[] = %q;\n", g.nvml)
	fmt.Fprintf(&b, "const int generation_cuda = %d;\n", g.cuda)
	fmt.Fprintf(&b, "const int generation_major = %s, generation_minor = %d;\n", parts[0], minor)
	fmt.Fprintf(&b, "const unsigned generation_gpm_max = %d;\n", g.gpmMax)
	fmt.Fprintf(&b, "const unsigned generation_process_v3 = %d;\n", g.processV3)
	fmt.Fprintf(&b, "const char *const function_names[] = {\n")
	for _, name := range symbols {
		fmt.Fprintf(&b, "\t%q,\n", name)
	}
	fmt.Fprintf(&b, "};\nconst int function_count = %d;\n", len(symbols))
	fmt.Fprintf(&b, "const char *const known_functions[] = {\n")
	for _, name := range known {
		fmt.Fprintf(&b, "\t%q,\n", name)
	}
	fmt.Fprintf(&b, "\tNULL,\n};\n")
	// A stub looks at its first argument alone; the calling conventions of all
	// targets let it ignore the others.
	fmt.Fprintf(&b, "int stub_call(const char *name, const void *first);\n")
	for _, name := range symbols {
		if !done[name] {
			fmt.Fprintf(&b, "int %s(const void *first);\n", name)
			fmt.Fprintf(&b, "int %s(const void *first) { return stub_call(%q, first); }\n", name, name)
		}
	}
	return b.String(), nil
}

// exportFile is a version script for ELF or a module definition for Windows.
func exportFile(goos string, symbols []string) string {
	var b strings.Builder
	names := append(slices.Clone(symbols), privateSymbols...)
	if goos == "windows" {
		fmt.Fprintf(&b, "LIBRARY nvml.dll\nEXPORTS\n")
		for _, name := range names {
			fmt.Fprintf(&b, "\t%s\n", name)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "{\nglobal:\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\t%s;\n", name)
	}
	fmt.Fprintf(&b, "local:\n\t*;\n};\n")
	return b.String()
}
