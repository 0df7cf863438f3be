// Build makes fake driver libraries for systems on which tests run without a
// C compiler: qemu and wine. Each generation gets a folder of its own.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"nvtop-lite/internal/fakenvml"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Usage: build -out DIR [-os OS] [-arch ARCH] [-generation NAME]")
		flag.PrintDefaults()
	}
	out := flag.String("out", "", "folder for the libraries, one folder a generation")
	goos := flag.String("os", runtime.GOOS, "linux or windows")
	goarch := flag.String("arch", runtime.GOARCH, "amd64 or arm64")
	only := flag.String("generation", "all", "one driver generation, or all")
	flag.Parse()
	if *out == "" || *out == "-" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	names := []string{*only}
	if *only == "all" {
		names = fakenvml.Generations()
	}
	if err := build(names, *goos, *goarch, *out); err != nil {
		fmt.Fprintln(os.Stderr, "fakenvml:", err)
		os.Exit(1)
	}
}

func build(names []string, goos, goarch, out string) error {
	cache, err := os.MkdirTemp("", "fakenvml-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	for _, name := range names {
		path, err := fakenvml.Compile(name, goos, goarch, filepath.Join(out, name), cache)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}
