package nvml_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTypesOfTheFunctionsCalled: the helpers call by number, and take the method
// of package gen for its type only; so the number must be that of the method.
func TestTypesOfTheFunctionsCalled(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	both := regexp.MustCompile(`gen\.Fn(\w+), (?:\w+, )?\(\*gen\.Library\)\.(\w+)`)
	pairs := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range both.FindAllStringSubmatch(string(b), -1) {
			if pairs++; m[1] != m[2] && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s: nvml%s is called, with what nvml%s takes", name, m[1], m[2])
			}
		}
	}
	if pairs < 60 {
		t.Errorf("%d calls found", pairs)
	}
}
