//go:build linux || windows

package fakenvml_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// How the C sources write the table of keys, and how they look keys up.
var (
	keyRow      = regexp.MustCompile(`(?m)^\t\{"([^"]+)", ([A-Z |]+), [A-Z_]+\},$`)
	keyInDots   = regexp.MustCompile(`"([a-z0-9]+(?:\.[a-z0-9]+)+)"`)
	keyLookup   = regexp.MustCompile(`(?:read_\w+|get_u64|table_find|clock_list|affinity|instance_id|global_text|API_\w+)\(([^;{}]*)`)
	keyNumbered = regexp.MustCompile(`key_of\("([a-z0-9.]+)"`)
	keyOfLink   = regexp.MustCompile(`(?:link_u64|link_key)\([^"\n]*"(\w+)"`)
	keyOfField  = regexp.MustCompile(`(?m)^\s*\{\d+, \d+, \d+, \w+, "(\w+)", \w+\},`)
	keyWord     = regexp.MustCompile(`"([a-z0-9]+)"`)
)

// The keys that lines of a scenario may set are those that answers are made of.
func TestKeysAreThoseThatAreLookedUp(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("c", "*.c"))
	if err != nil || len(files) == 0 {
		t.Skip("the sources are not here")
	}
	table, err := os.ReadFile(filepath.Join("c", "keys.c"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	var order []string
	for _, m := range keyRow.FindAllStringSubmatch(string(table), -1) {
		known[m[1]] = true
		order = append(order, m[1])
	}
	if len(order) < 200 || !slices.IsSorted(order) {
		t.Errorf("%d keys in order: %v", len(order), slices.IsSorted(order))
	}
	looked := map[string]bool{
		// Put together from parts.
		"process.stride.v1": true, "process.stride.v2": true, "process.stride.v3": true, "field.#.#": true,
		// The error counters of links, in a table without dots.
		"nvlink.replay": true, "nvlink.recovery": true, "nvlink.crcflit": true, "nvlink.crcdata": true, "nvlink.ecc": true,
	}
	for _, prefix := range []string{"clock.", "clockmax.", "clockapp.", "clockboost."} {
		for _, name := range []string{"graphics", "sm", "memory", "video"} {
			looked[prefix+name] = true
		}
	}
	policy := regexp.MustCompile(`^policy\.\d+$`)
	for _, file := range files {
		switch filepath.Base(file) {
		case "keys.c", "models.c":
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source := string(text)
		for _, m := range keyNumbered.FindAllStringSubmatch(source, -1) {
			looked[m[1]+".#"] = true
		}
		source = keyNumbered.ReplaceAllString(source, "key_of(")
		for _, m := range keyOfField.FindAllStringSubmatch(source, -1) {
			looked[m[1]] = true
		}
		for _, m := range keyOfLink.FindAllStringSubmatch(source, -1) {
			looked["nvlink."+m[1]] = true
		}
		source = keyOfLink.ReplaceAllString(source, "link_key(")
		for _, m := range keyInDots.FindAllStringSubmatch(source, -1) {
			switch {
			case policy.MatchString(m[1]):
				looked["policy.#"] = true
			case !slices.Contains([]string{"fake.h", "calls.bin", "violations.log", "1g.10gb"}, m[1]):
				looked[m[1]] = true
			}
		}
		for _, call := range keyLookup.FindAllStringSubmatch(source, -1) {
			for _, m := range keyWord.FindAllStringSubmatch(call[1], -1) {
				if !slices.Contains([]string{"v1", "v2", "v3", "model"}, m[1]) {
					looked[m[1]] = true
				}
			}
		}
	}
	for key := range looked {
		if !known[key] {
			t.Errorf("keys.c lacks %s", key)
		}
	}
	for key := range known {
		if !looked[key] {
			t.Errorf("keys.c has %s, which nothing looks up", key)
		}
	}
}
