// Command gen-bindings writes the Go package nvml/gen and the C files in
// internal/abi from NVIDIA's header nvml.h.
//
// The header comes from the module github.com/NVIDIA/go-nvml, in the version
// that go.mod beside this file requires, checked against go.sum. To follow a
// newer NVML:
//
//	go -C scripts get github.com/NVIDIA/go-nvml@VERSION
//	go generate ./nvml/gen
//
// No C compiler is needed. What the bindings cannot represent is refused with
// the name of the declaration, and nothing is written.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "..", "folder of the main module, into which nvml/gen and internal/abi are written")
	version := flag.String("version", "", "version of the module "+headerModule+" (default: the one go.mod requires)")
	header := flag.String("header", "", "read this file instead of the module's header")
	check := flag.Bool("check", false, "write nothing; exit with 1 and name the files that are not fresh")
	flag.Parse()
	if err := run(*out, *version, *header, *check); err != nil {
		fmt.Fprintln(os.Stderr, "gen-bindings:", err)
		os.Exit(1)
	}
}

func run(out, version, header string, check bool) error {
	if header == "" {
		dir, err := headerFolder(version)
		if err != nil {
			return err
		}
		header = filepath.Join(dir, "gen", "nvml", headerName)
	}
	text, err := os.ReadFile(header)
	if err != nil {
		return err
	}
	files, err := Generate(text)
	if err != nil {
		return fmt.Errorf("%s cannot be bound:\n%w", header, err)
	}
	if check {
		return stale(out, files)
	}
	for _, name := range sortedNames(files) {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Generate returns every generated file by its path in the main module.
func Generate(header []byte) (map[string][]byte, error) {
	m, err := Load(header)
	if err != nil {
		return nil, err
	}
	first, err := firstDrivers(symbolTable)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Funcs {
		f.First = first[f.CName]
	}
	pkg, err := emitGo(m)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"internal/abi/nvml_abi.h": emitHeader(m),
		"internal/abi/echo.c":     emitEcho(m),
	}
	for name, src := range pkg {
		files["nvml/gen/"+name] = src
	}
	return files, nil
}

// stale compares the files below out with what they should be.
func stale(out string, files map[string][]byte) error {
	var errs []error
	for _, name := range sortedNames(files) {
		have, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing, run go generate ./nvml/gen", name))
		case err != nil:
			errs = append(errs, err)
		case !bytes.Equal(have, files[name]):
			errs = append(errs, fmt.Errorf("%s is not fresh, run go generate ./nvml/gen", name))
		}
	}
	return errors.Join(errs...)
}
