package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// builder makes the files of one release.
type builder struct {
	settings
	ctx  context.Context
	work string // what is needed on the way, and goes
	out  string // what stays

	licences thirdParty
	docs     []member // what goes with every program
	programs []program
}

// program is one executable file.
type program struct {
	os, arch string
	kind     string
	path     string
}

// The kinds of programs, in words for those who read what they were made of.
const (
	kindTwoMode  = "runs on every Linux"
	kindPlain    = "for Linux with glibc"
	kindPackaged = "in the packages"
	kindWindows  = "for Windows"
)

// loaders are where glibc's lies. The linker would take the one of the machine
// that builds.
var loaders = map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}

var architectures = []string{"amd64", "arm64"}

// shells are those with completions, and the name of the file for each.
var shells = []struct{ shell, file string }{
	{"bash", name}, {"zsh", "_" + name}, {"fish", name + ".fish"}, {"powershell", name + ".ps1"},
}

// make makes everything.
func (b *builder) make() error {
	for _, step := range []func() error{b.collect, b.build, b.archives, b.packages, b.sbom, b.scoop, b.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// collect takes the texts together, before the long part begins.
func (b *builder) collect() (err error) {
	if b.licences, err = b.findLicences(); err != nil {
		return err
	}
	b.docs = []member{{thirdPartyFile, 0o644, b.licences.text()}}
	texts := []string{"LICENSE", "NOTICE", manFile}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*.json"} {
		found, err := fs.Glob(os.DirFS(b.root), pattern)
		if err != nil {
			return err
		}
		texts = append(texts, found...)
	}
	for _, file := range texts {
		text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		b.docs = append(b.docs, member{file, 0o644, text})
	}
	host := filepath.Join(b.work, "host")
	if err := b.goBuild(runtime.GOOS, runtime.GOARCH, host); err != nil {
		return err
	}
	for _, s := range shells {
		text, err := exec.CommandContext(b.ctx, host, "completion", s.shell).Output()
		if err != nil || len(text) == 0 {
			return fmt.Errorf("%s completion %s: %d bytes, %w", name, s.shell, len(text), err)
		}
		b.docs = append(b.docs, member{"completions/" + s.file, 0o644, text})
	}
	// Whoever takes a program alone finds its licences beside it.
	for _, d := range b.docs {
		if d.name == "LICENSE" || d.name == "NOTICE" || d.name == thirdPartyFile {
			if err := b.write(d.name, d.text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// manFile is the manual page.
const manFile = "docs/" + name + ".1"

// doc is a text that goes with every program.
func (b *builder) doc(name string) []byte {
	for _, m := range b.docs {
		if m.name == name {
			return m.text
		}
	}
	panic("nobody took along " + name)
}

// build builds the programs.
func (b *builder) build() error {
	for _, arch := range architectures {
		base := filepath.Join(b.out, name+"-linux-"+arch)
		if err := b.twoMode(arch, base); err != nil {
			return err
		}
		b.add(program{"linux", arch, kindTwoMode, base})
		loader := "-I " + loaders[arch]
		if err := b.goBuild("linux", arch, base+"-glibc", loader); err != nil {
			return err
		}
		b.add(program{"linux", arch, kindPlain, base + "-glibc"})
		packaged := filepath.Join(b.work, name+"-linux-"+arch+"-pie")
		if err := b.goBuild("linux", arch, packaged, loader, "-buildmode=pie"); err != nil {
			return err
		}
		b.add(program{"linux", arch, kindPackaged, packaged})
		windows := filepath.Join(b.out, name+"-windows-"+arch+".exe")
		if err := b.goBuild("windows", arch, windows); err != nil {
			return err
		}
		b.add(program{"windows", arch, kindWindows, windows})
	}
	return nil
}

func (b *builder) add(p program) { b.programs = append(b.programs, p) }

// find is the program of a kind.
func (b *builder) find(os, arch, kind string) program {
	i := slices.IndexFunc(b.programs, func(p program) bool { return p.os == os && p.arch == arch && p.kind == kind })
	return b.programs[i]
}

// goBuild builds the program. What begins with "-I" is for the linker.
func (b *builder) goBuild(system, arch, out string, more ...string) error {
	linker := "-s -w"
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", out}
	for _, m := range more {
		if strings.HasPrefix(m, "-I") {
			linker += " " + m
		} else {
			args = append(args, m)
		}
	}
	_, err := b.goTool(b.root, []string{"GOOS=" + system, "GOARCH=" + arch}, append(args, "-ldflags="+linker, "./cmd/"+name)...)
	if err != nil {
		return err
	}
	return os.Chmod(out, 0o755)
}

// twoMode builds the Linux file that runs everywhere.
func (b *builder) twoMode(arch, out string) error {
	if _, err := b.goTool(filepath.Join(b.root, "scripts", "twomode"), nil, "run", ".", "-arch", arch, "-o", out); err != nil {
		return err
	}
	return os.Chmod(out, 0o755)
}

// plainEnvironment is what a build must not take from its caller.
var plainEnvironment = []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GODEBUG=", "GOEXPERIMENT=", "GOOS=", "GOARCH="}

// goTool runs the go command in a folder, with more environment.
func (b *builder) goTool(dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(b.ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), plainEnvironment, env)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return string(text), nil
}

// write puts a file into the release.
func (b *builder) write(file string, text []byte, mode os.FileMode) error {
	path := filepath.Join(b.out, file)
	if err := os.WriteFile(path, text, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask is
}

// sums writes the sums of all files, and signs them.
func (b *builder) sums() error {
	list, err := os.ReadDir(b.out) // sorted
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range list {
		sum, err := sumOf(filepath.Join(b.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, e.Name())
	}
	if err := b.write(sumsFile, text.Bytes(), 0o644); err != nil {
		return err
	}
	if b.key == "" {
		fmt.Println("no signature: NVTOP_LITE_SIGNING_KEY names no key")
		return nil
	}
	cmd := exec.CommandContext(b.ctx, "ssh-keygen", "-q", "-Y", "sign", "-n", name, "-f", b.key, sumsFile)
	cmd.Dir = b.out
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr // for a passphrase
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ssh-keygen: %w", err)
	}
	return os.Chmod(filepath.Join(b.out, sumsFile+".sig"), 0o644)
}

// sumsFile has the sums of all other files.
const sumsFile = "SHA256SUMS"

// sumOf is the sum of a file, as hex digits.
func sumOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// zipped is text as gzip -n -9 has it: without a name and a time.
func zipped(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
