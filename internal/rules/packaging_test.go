package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// placeholders are what a release fills in, with examples.
var placeholders = map[string]string{
	"@VERSION@":      "1.2.3",
	"@HOMEPAGE@":     "https://example.org/nvtop-lite",
	"@URL_AMD64@":    "https://example.org/nvtop-lite-windows-amd64.zip",
	"@URL_ARM64@":    "https://example.org/nvtop-lite-windows-arm64.zip",
	"@SHA256_AMD64@": strings.Repeat("a", 64),
	"@SHA256_ARM64@": strings.Repeat("b", 64),
}

// TestScoop: filled in, the manifest is one that Scoop takes, and nothing of the
// template is left.
func TestScoop(t *testing.T) {
	template, err := os.ReadFile(filepath.Join(root, "packaging", "scoop", "nvtop-lite.json"))
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(readLines(t, "packaging/README.md"), "\n")
	text := string(template)
	for name, value := range placeholders {
		if strings.Count(text, name) != 1 || !strings.Contains(told, "`"+name+"`") {
			t.Errorf("%s stands %d times in the template, or not in packaging/README.md", name, strings.Count(text, name))
		}
		text = strings.ReplaceAll(text, name, value)
	}
	if left := regexp.MustCompile(`@\w*@?`).FindAllString(text, -1); left != nil {
		t.Errorf("nobody fills in %q", left)
	}
	type archive struct{ URL, Hash string }
	var m struct {
		Version, Description, Homepage, License, Bin string
		Architecture                                 map[string]archive
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields() // a misspelt key would go unseen
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if m.Version != "1.2.3" || m.Homepage == "" || m.License != "MIT" || m.Bin != "nvtop-lite.exe" || m.Description == "" {
		t.Errorf("%+v", m)
	}
	for scoop, arch := range map[string]string{"64bit": "AMD64", "arm64": "ARM64"} {
		if want := (archive{placeholders["@URL_"+arch+"@"], placeholders["@SHA256_"+arch+"@"]}); m.Architecture[scoop] != want {
			t.Errorf("%s gets %+v, want %+v", scoop, m.Architecture[scoop], want)
		}
	}
	if len(m.Architecture) != 2 {
		t.Errorf("architectures %v", m.Architecture)
	}
}
