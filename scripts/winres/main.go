// Command winres writes the resources of the Windows program: its version and
// its manifest, as object files beside cmd/nvtop-lite's sources, which "go
// build" links by itself.
//
// The version is the constant in cmd/nvtop-lite/main.go. After a change of it:
//
//	go generate ./cmd/nvtop-lite
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"
)

// english is the language of the resources.
const english = 0x409

// manifest asks for no rights beyond the caller's. UTF-8 is for the driver's
// library, whose calls without a W take the program's code page.
//
//go:embed nvtop-lite.manifest
var manifest []byte

// architectures are those that Windows programs are built for, in Go's words.
var architectures = []winres.Arch{winres.ArchAMD64, winres.ArchARM64}

func main() {
	check := flag.Bool("check", false, "write nothing; exit with 1 and name the files that are not fresh")
	flag.Parse()
	if err := run(filepath.Join("..", "..", "cmd", "nvtop-lite"), *check); err != nil {
		fmt.Fprintln(os.Stderr, "winres:", err)
		os.Exit(1)
	}
}

// run writes the object files into folder, or compares those that are there.
func run(folder string, check bool) error {
	v, err := programVersion(filepath.Join(folder, "main.go"))
	if err != nil {
		return err
	}
	set, err := resources(v)
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		var object bytes.Buffer
		if err := set.WriteObject(&object, arch); err != nil {
			return err
		}
		name := filepath.Join(folder, "rsrc_windows_"+string(arch)+".syso")
		if !check {
			err = os.WriteFile(name, object.Bytes(), 0o644)
		} else if old, _ := os.ReadFile(name); !bytes.Equal(old, object.Bytes()) {
			err = fmt.Errorf("%s is not fresh: go generate ./cmd/nvtop-lite", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// programVersion reads the constant version of a Go file.
func programVersion(file string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var text string
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "version" && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				text, _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	if text == "" {
		return "", fmt.Errorf("%s has no constant version", file)
	}
	return text, nil
}

var semantic = regexp.MustCompile(`^(\d{1,4})\.(\d{1,4})\.(\d{1,4})(-[0-9A-Za-z.-]+)?$`)

// resources are the manifest and the version, such as 1.2.3 or 1.2.3-rc.1.
func resources(v string) (*winres.ResourceSet, error) {
	parts := semantic.FindStringSubmatch(v)
	if parts == nil {
		return nil, fmt.Errorf("version %q is not of the form 1.2.3 or 1.2.3-rc.1", v)
	}
	var set winres.ResourceSet
	if err := set.Set(winres.RT_MANIFEST, winres.ID(1), english, manifest); err != nil {
		return nil, err
	}
	// The number is 16 bits a part and has no room for what follows the dash.
	var number [4]uint16
	for i, p := range parts[1:4] {
		n, _ := strconv.ParseUint(p, 10, 16)
		number[i] = uint16(n)
	}
	info := version.Info{FileVersion: number, ProductVersion: number, Type: version.App}
	info.Flags.Prerelease = parts[4] != ""
	for _, s := range [][2]string{
		{version.ProductName, "nvtop-lite"},
		{version.FileDescription, "nvtop-lite: monitor of NVIDIA GPUs"},
		{version.OriginalFilename, "nvtop-lite.exe"},
		{version.InternalName, "nvtop-lite"},
		{version.LegalCopyright, "the nvtop-lite authors, MIT License"},
		{version.FileVersion, v},
		{version.ProductVersion, v},
	} {
		if err := info.Set(english, s[0], s[1]); err != nil {
			return nil, err
		}
	}
	set.SetVersionInfo(info)
	return &set, nil
}
