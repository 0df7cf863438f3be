package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCases: every test that docs/cases.md names is there, and every case has
// one.
func TestCases(t *testing.T) {
	known := map[string]string{} // the text of a package's tests
	tests := func(folder string) string {
		text, ok := known[folder]
		if ok {
			return text
		}
		list, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
		if err != nil || len(list) == 0 {
			t.Errorf("%s has no tests: %v", folder, err)
		}
		for _, name := range list {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		known[folder] = text
		return text
	}
	isID, isTest := regexp.MustCompile(`^[A-Z]\d+$`), regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w*$`)
	cases, named := map[string]bool{}, 0
	for n, line := range readLines(t, "docs/cases.md") {
		cells := strings.Split(line, " | ")
		id := strings.TrimPrefix(cells[0], "| ")
		if !isID.MatchString(id) {
			if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| | ") {
				t.Errorf("line %d: no case begins with %q", n+1, cells[0])
			}
			continue
		}
		if len(cells) != 4 || cases[id] {
			t.Errorf("%s: %d cells, or there twice", id, len(cells))
			continue
		}
		cases[id] = true
		for _, of := range strings.Split(strings.TrimSuffix(cells[3], " |"), "; ") {
			folder, list, _ := strings.Cut(of, ": ")
			for _, test := range strings.Split(list, ", ") {
				if !isTest.MatchString(test) || !strings.Contains(tests(folder), "\nfunc "+test+"(") {
					t.Errorf("%s: %s has no test %q", id, folder, test)
				}
				named++
			}
		}
	}
	if len(cases) < 60 || named < len(cases) {
		t.Errorf("%d cases, %d tests", len(cases), named)
	}
}
