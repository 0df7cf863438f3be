package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers its kind
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers its kind
)

// What package managers show.
const (
	summary     = "monitor of NVIDIA GPUs for the terminal"
	description = `Shows what the NVIDIA GPUs of a machine do: live on a terminal, once as
text, or as JSON, CSV or metrics for scripts. The library that it reads
comes with the NVIDIA driver; without one it says so.`
)

// authors are nobody in particular: the project has no address yet.
const authors = "the " + name + " authors"

// packages makes the packages of Debian's and Red Hat's kind. They carry the plain
// file, as PIE: what a distribution's tools expect of a program.
func (b *builder) packages() error {
	doc := "/usr/share/doc/" + name + "/"
	common := linked(slices.DeleteFunc(slices.Clone(b.docs), func(d member) bool {
		return !strings.HasSuffix(d.name, ".md") && !strings.HasSuffix(d.name, ".json")
	}))
	for i := range common {
		common[i].name = doc + common[i].name
	}
	man, err := zipped(b.doc(manFile))
	if err != nil {
		return err
	}
	common = append(common,
		member{"/usr/share/man/man1/" + filepath.Base(manFile) + ".gz", 0o644, man},
		member{"/usr/share/bash-completion/completions/" + name, 0o644, b.doc("completions/" + name)},
		member{"/usr/share/fish/vendor_completions.d/" + name + ".fish", 0o644, b.doc("completions/" + name + ".fish")},
	)
	changes, err := zipped(b.debianChanges())
	if err != nil {
		return err
	}
	own, notice, others := b.doc("LICENSE"), b.doc("NOTICE"), b.doc(thirdPartyFile)
	licences := "/usr/share/licenses/" + name + "/"
	zsh := b.doc("completions/_" + name)
	formats := []struct {
		format, needs string
		members       []member
	}{
		// Images for containers leave out everything of doc but copyright.
		{"deb", "libc6", []member{
			{doc + "copyright", 0o644, bytes.Join([][]byte{own, notice, others}, []byte("\n"))},
			{doc + "changelog.Debian.gz", 0o644, changes},
			{"/usr/share/zsh/vendor-completions/_" + name, 0o644, zsh},
		}},
		{"rpm", "libc.so.6()(64bit)", []member{
			{licences + "LICENSE", 0o644, own},
			{licences + "NOTICE", 0o644, notice},
			{licences + thirdPartyFile, 0o644, others},
			{"/usr/share/zsh/site-functions/_" + name, 0o644, zsh},
		}},
	}
	for _, arch := range architectures {
		text, err := os.ReadFile(b.find("linux", arch, kindPackaged).path)
		if err != nil {
			return err
		}
		for _, f := range formats {
			members := append([]member{{"/usr/bin/" + name, 0o755, text}}, common...)
			if err := b.packaged(f.format, arch, f.needs, append(members, f.members...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// debianChanges is the changelog of the package in Debian's form, which is one entry:
// what changed in the program is in CHANGELOG.md beside it. No address stands between
// the angle brackets, as there is none.
func (b *builder) debianChanges() []byte {
	return fmt.Appendf(nil, "%s (%s-1) unstable; urgency=medium\n\n  * Version %[2]s: CHANGELOG.md beside this file says what changed.\n\n -- %[3]s <>  %[4]s\n",
		name, b.version, authors, b.time.Format(time.RFC1123Z))
}

// packaged makes one package.
func (b *builder) packaged(format, arch, needs string, members []member) error {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: name, Arch: arch, Platform: "linux", Version: b.version, Release: "1",
		Section: "utils", Priority: "optional", Maintainer: authors, Vendor: authors,
		Homepage: b.home, License: "MIT", MTime: b.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Depends: []string{needs},
			// The name of the machine that builds would stand there.
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: summary},
		},
	})
	info.Description = description
	if format == "deb" {
		info.Description = summary + "\n" + description
	}
	for i, m := range members {
		source := filepath.Join(b.work, fmt.Sprintf("member-%d", i))
		if err := os.WriteFile(source, m.text, 0o600); err != nil {
			return err
		}
		c := &files.Content{
			Source: source, Destination: m.name, Type: files.TypeFile,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: m.mode, MTime: b.time},
		}
		switch {
		case format != "rpm":
		case strings.HasPrefix(m.name, "/usr/share/licenses/"):
			c.Type = files.TypeRPMLicense
		case strings.HasPrefix(m.name, "/usr/share/doc/"), strings.HasPrefix(m.name, "/usr/share/man/"):
			c.Type = files.TypeRPMDoc
		}
		info.Contents = append(info.Contents, c)
	}
	if format == "rpm" {
		// A folder that the package does not own stays when it is removed.
		for _, folder := range []string{"doc/" + name, "doc/" + name + "/docs", "licenses/" + name} {
			info.Contents = append(info.Contents, &files.Content{
				Destination: "/usr/share/" + folder, Type: files.TypeDir,
				FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: b.time},
			})
		}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return fmt.Errorf("%s: %w", format, err)
	}
	return b.write(packager.ConventionalFileName(info), out.Bytes(), 0o644)
}
