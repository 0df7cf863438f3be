package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"os"
	"slices"
	"strings"
	"time"
)

// member is a file in an archive.
type member struct {
	name string // with slashes
	mode os.FileMode
	text []byte
}

// archives packs the programs with what belongs to them: for Linux in a folder,
// for Windows at the root, where Scoop looks.
func (b *builder) archives() error {
	for _, arch := range architectures {
		text, err := os.ReadFile(b.find("linux", arch, kindTwoMode).path)
		if err != nil {
			return err
		}
		folder := strings.TrimSuffix(b.archive("linux", arch), ".tar.gz")
		packed, err := tarball(folder, linked(append(b.docs[:len(b.docs):len(b.docs)], member{name, 0o755, text})), b.time)
		if err != nil {
			return err
		}
		if err := b.write(b.archive("linux", arch), packed, 0o644); err != nil {
			return err
		}
		if text, err = os.ReadFile(b.find("windows", arch, kindWindows).path); err != nil {
			return err
		}
		members := []member{{name + ".exe", 0o755, text}}
		for _, d := range b.docs {
			if d.name != manFile && (!strings.HasPrefix(d.name, "completions/") || strings.HasSuffix(d.name, ".ps1")) {
				members = append(members, d)
			}
		}
		if packed, err = zipFile(linked(members), b.time); err != nil {
			return err
		}
		if err := b.write(b.archive("windows", arch), packed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// archive is the name of the archive for a system.
func (b *builder) archive(system, arch string) string {
	file := name + "-" + b.version + "-" + system + "-" + arch
	if system == "windows" {
		return file + ".zip"
	}
	return file + ".tar.gz"
}

// sorted are the members by name, and the folders that they lie in.
func sorted(members []member) (all []member, folders map[string]bool) {
	all = slices.Clone(members)
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	folders = make(map[string]bool)
	for _, m := range all {
		for i, r := range m.name {
			if r == '/' {
				folders[m.name[:i+1]] = true
			}
		}
	}
	return all, folders
}

// tarball packs members into a folder. They belong to nobody in particular.
func tarball(folder string, members []member, when time.Time) ([]byte, error) {
	inside := slices.Clone(members)
	for i := range inside {
		inside[i].name = folder + "/" + inside[i].name
	}
	all, folders := sorted(inside)
	for f := range folders {
		all = append(all, member{f, 0o755, nil})
	}
	all, _ = sorted(all) // a folder comes before what lies in it
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, m := range all {
		h := &tar.Header{Name: m.name, Mode: int64(m.mode), Size: int64(len(m.text)), ModTime: when, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if strings.HasSuffix(m.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zipped(plain.Bytes())
}

// zipFile packs members. Their time is in UTC, whatever the zone of the builder.
func zipFile(members []member, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	all, _ := sorted(members)
	for _, m := range all {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(m.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(m.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
