package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"
)

var program = filepath.Join("..", "..", "cmd", "nvtop-lite")

// TestProgram: what "go build" makes for Windows has the manifest and the
// version of the sources.
func TestProgram(t *testing.T) {
	want, err := programVersion(filepath.Join(program, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		t.Run(string(arch), func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "nvtop-lite.exe")
			build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", exe, ".")
			build.Dir = program
			build.Env = append(os.Environ(), "GOOS=windows", "GOARCH="+string(arch), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f, err := os.Open(exe)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			set, err := winres.LoadFromEXE(f)
			if err != nil {
				t.Fatal(err)
			}
			checkManifest(t, set.Get(winres.RT_MANIFEST, winres.ID(1), english))
			info, err := version.FromBytes(set.Get(winres.RT_VERSION, winres.ID(1), english))
			if info == nil || err != nil {
				t.Fatalf("the version: %v", err)
			}
			for _, key := range []string{version.FileVersion, version.ProductVersion} {
				if got := texts(t, info)[key]; got != want {
					t.Errorf("%s is %q, and the program says %q", key, got, want)
				}
			}
		})
	}
}

// texts are the words of a version in English, which the library gives as JSON
// alone.
func texts(t *testing.T, info *version.Info) map[string]string {
	t.Helper()
	b, err := info.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Info map[string]map[string]string }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all.Info["0409"]
}

func checkManifest(t *testing.T, text []byte) {
	t.Helper()
	var m struct {
		XMLName xml.Name `xml:"urn:schemas-microsoft-com:asm.v1 assembly"`
		Level   struct {
			Level    string `xml:"level,attr"`
			UIAccess string `xml:"uiAccess,attr"`
		} `xml:"trustInfo>security>requestedPrivileges>requestedExecutionLevel"`
		Systems []struct {
			ID string `xml:"Id,attr"`
		} `xml:"compatibility>application>supportedOS"`
		CodePage  string `xml:"application>windowsSettings>activeCodePage"`
		LongPaths string `xml:"application>windowsSettings>longPathAware"`
	}
	if err := xml.Unmarshal(text, &m); err != nil {
		t.Fatalf("the manifest: %v\n%s", err, text)
	}
	if m.Level.Level != "asInvoker" || m.Level.UIAccess != "false" {
		t.Errorf("the program asks for rights: %+v", m.Level)
	}
	if m.CodePage != "UTF-8" || m.LongPaths != "true" {
		t.Errorf("code page %q, long paths %q", m.CodePage, m.LongPaths)
	}
	// Without it Windows tells a program that it is Windows 8.
	if len(m.Systems) != 1 || m.Systems[0].ID != "{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}" {
		t.Errorf("systems %v", m.Systems)
	}
}

// TestStale: a new version makes the files old, and -check says which.
func TestStale(t *testing.T) {
	folder := t.TempDir()
	source := func(v string) {
		if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n\nconst version = \""+v+"\"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	source("1.2.3")
	if err := run(folder, true); err == nil || !strings.Contains(err.Error(), "rsrc_windows_amd64.syso") {
		t.Errorf("no files, and -check says %v", err)
	}
	if err := run(folder, false); err != nil {
		t.Fatal(err)
	}
	if err := run(folder, true); err != nil {
		t.Errorf("fresh files: %v", err)
	}
	source("1.2.4")
	if err := run(folder, true); err == nil {
		t.Error("files of another version pass as fresh")
	}
}

func TestVersions(t *testing.T) {
	for v, want := range map[string][4]uint16{"1.2.3": {1, 2, 3}, "0.10.0-rc.1": {0, 10, 0}} {
		set, err := resources(v)
		if err != nil {
			t.Errorf("%s: %v", v, err)
			continue
		}
		info, err := version.FromBytes(set.Get(winres.RT_VERSION, winres.ID(1), english))
		if err != nil || info == nil {
			t.Fatalf("%s: %v", v, err)
		}
		if info.FileVersion != want || info.Flags.Prerelease != strings.Contains(v, "-") {
			t.Errorf("%s is %v, early %v", v, info.FileVersion, info.Flags.Prerelease)
		}
	}
	for _, v := range []string{"", "1.2", "v1.2.3", "1.2.3.4", "99999.0.0", "1.2.3 "} {
		if _, err := resources(v); err == nil {
			t.Errorf("%q passes as a version", v)
		}
	}
}
