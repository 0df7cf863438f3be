package main

import (
	"fmt"
	"strings"

	"modernc.org/cc/v4"
)

// target is one platform whose C layout the bindings must match.
type target struct{ goos, goarch string }

func (t target) String() string { return t.goos + "/" + t.goarch }

// targets are parsed one by one; the first is the one the others are compared with.
var targets = []target{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// headerName is the name under which the header is handed to the parser.
const headerName = "nvml.h"

// predefined answers what a C compiler for t would define before the first
// line, as far as the parser and the header ask for it.
func (t target) predefined() string {
	size, diff := "unsigned long", "long"
	if t.goos == "windows" {
		size, diff = "unsigned long long", "long long"
	}
	var b strings.Builder
	def := func(name, value string) { fmt.Fprintf(&b, "#define %s %s\n", name, value) }
	def("__SIZE_TYPE__", size)
	def("__PTRDIFF_TYPE__", diff)
	def("__UINT16_TYPE__", "unsigned short")
	def("__UINT32_TYPE__", "unsigned")
	def("__UINT64_TYPE__", "unsigned long long")
	def("__STDC__", "1")
	def("__STDC_VERSION__", "199901L")
	// Without this the header renames nvmlInit to nvmlInit_v2 and so on, and
	// the prototypes of the older symbols disappear.
	def("NVML_NO_UNVERSIONED_FUNC_DEFS", "1")
	if t.goos == "windows" {
		def("_WIN32", "1")
		def("__declspec(x)", "")
	}
	return b.String()
}

// parse reads the header as the C compiler of t would. No compiler is run.
func parse(t target, header []byte) (*cc.AST, error) {
	abi, err := cc.NewABI(t.goos, t.goarch)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	ast, err := cc.Translate(&cc.Config{
		ABI:            abi,
		EvalAllMacros:  true,
		Header:         true,
		ABILayout:      true,
		UnsignedEnums:  t.goos != "windows",
		FSOnly:         true,
		ExpansionLimit: 50_000_000,
	}, []cc.Source{
		{Name: "<predefined>", Value: t.predefined()},
		{Name: "<builtin>", Value: cc.Builtin},
		{Name: headerName, Value: header},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return ast, nil
}
