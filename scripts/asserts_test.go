package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The model's layouts and values are checked by C compilers, which read the
// real header and the one generated from it.

var compilers = []struct {
	target, command, debian string
	ulong                   int
}{
	{"linux/amd64", "gcc", "gcc libc6-dev", 8},
	{"linux/arm64", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", 8},
	{"windows/amd64", "x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64", 4},
}

// compiler returns the path of a C compiler.
func compiler(t *testing.T, command, debian string) string {
	t.Helper()
	path, err := exec.LookPath(command)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing", command)
		}
		t.Skipf("%s is missing: apt-get install %s", command, debian)
	}
	return path
}

func TestCompilersAgreeWithTheModel(t *testing.T) {
	m, header := loadPinned(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nvml.h"), header)
	write(t, filepath.Join(dir, "nvml_abi.h"), emitHeader(m))
	for _, c := range compilers {
		t.Run(c.target, func(t *testing.T) {
			cc := compiler(t, c.command, c.debian)
			for _, include := range []string{"nvml.h", "nvml_abi.h"} {
				src, n := emitAsserts(m, include, c.ulong)
				if n < 2408 {
					t.Errorf("only %d assertions", n)
				}
				if out, err := compile(t, cc, dir, src); err != nil {
					t.Errorf("%s: %v\n%s", include, err, out)
				}
				t.Logf("%s: %d assertions", include, n)
			}
		})
	}
}

// The header for stand-ins stands alone, without warnings, and its list holds
// every function.
func TestTheHeaderForStandIns(t *testing.T) {
	m, _ := loadPinned(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nvml_abi.h"), emitHeader(m))
	src := fmt.Appendf(nil, `#include "nvml_abi.h"
#define ROW(name, first) { #name, (void (*)(void))name, first },
const struct { const char *name; void (*address)(void); const char *first; } rows[] = { NVML_FUNCTIONS(ROW) };
_Static_assert(sizeof rows / sizeof *rows == %d, "functions");
`, len(m.Funcs))
	for _, c := range compilers {
		t.Run(c.target, func(t *testing.T) {
			cc := compiler(t, c.command, c.debian)
			if out, err := compile(t, cc, dir, src); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestCompilersRefuseAWrongLayout(t *testing.T) {
	m, header := loadPinned(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nvml.h"), header)
	cc := compiler(t, "gcc", "gcc libc6-dev")
	for _, r := range m.Records {
		if r.CName == "nvmlMemory_v2_t" {
			r.Fields[2].Offset += 8
		}
	}
	src, _ := emitAsserts(m, "nvml.h", 8)
	out, err := compile(t, cc, dir, src)
	if err == nil || !strings.Contains(string(out), "offsetof(nvmlMemory_v2_t, reserved) == 24") {
		t.Errorf("a wrong offset compiles: %v\n%s", err, out)
	}
}

func compile(t *testing.T, cc, dir string, src []byte) ([]byte, error) {
	t.Helper()
	path := filepath.Join(dir, "asserts.c")
	write(t, path, src)
	return exec.Command(cc, "-std=gnu11", "-Wall", "-Wextra", "-fsyntax-only", "-I", dir, path).CombinedOutput()
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// emitAsserts writes a C file that does not compile when a size, alignment,
// offset, version word or value is not the model's. It is compiled against the
// header that include names; ulong is the size of unsigned long there.
func emitAsserts(m *Model, include string, ulong int) ([]byte, int) {
	e := &cEmitter{m: m}
	n := 0
	assert := func(cond string) {
		n++
		e.printf("_Static_assert(%s, %q);\n", cond, cond)
	}
	e.printf("#include <stddef.h>\n#define NVML_NO_UNVERSIONED_FUNC_DEFS 1\n#include %q\n", include)
	var record func(r *Record, name, prefix string, base int64)
	record = func(r *Record, name, prefix string, base int64) {
		for _, f := range r.Fields {
			path := prefix + f.Name
			t := f.Type
			if f.Name == "" { // its members are reached as the parent's
				record(t.Record, name, prefix, base+f.Offset)
				continue
			}
			assert(fmt.Sprintf("offsetof(%s, %s) == %d", name, path, base+f.Offset))
			size := t.Size
			if t.Kind == ULong {
				size = int64(ulong)
			}
			assert(fmt.Sprintf("sizeof(((%s *)0)->%s) == %d", name, path, size))
			for at := path; ; {
				if t.Kind == Array {
					at, t = at+"[0]", t.Elem
					continue
				}
				if t.Kind == RecordRef && t.CName == "" {
					record(t.Record, name, at+".", base+f.Offset)
				}
				break
			}
		}
	}
	typ := func(name string, size, align int64) {
		assert(fmt.Sprintf("sizeof(%s) == %d", name, size))
		assert(fmt.Sprintf("_Alignof(%s) == %d", name, align))
	}
	for _, r := range m.Records {
		typ(r.CName, r.Size, r.Align)
		record(r, r.CName, "", 0)
	}
	for _, a := range m.Aliases {
		assert(fmt.Sprintf("sizeof(%s) == sizeof(%s)", a.CName, a.Target))
	}
	for _, x := range m.Enums {
		typ(x.CName, 4, x.Align)
		for _, v := range x.Enumerators {
			assert(fmt.Sprintf("(long long)%s == %dll", v.Name, v.Value))
		}
	}
	for _, h := range m.Handles {
		typ(h.CName, 8, 8)
	}
	for _, w := range m.Words {
		assert(fmt.Sprintf("%s == %su", w.CName, w.Value))
	}
	for _, x := range m.Macros {
		if x.Range || strings.HasPrefix(x.Value, `"`) {
			continue
		}
		assert(fmt.Sprintf("%s == %s", x.CName, cValue(x.Value)))
	}
	return e.buf.Bytes(), n
}
