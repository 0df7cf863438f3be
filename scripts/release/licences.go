package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// thirdPartyFile has the licences of what is linked into the programs.
const thirdPartyFile = "THIRD-PARTY-LICENSES"

// module is somebody else's code in the programs.
type module struct {
	path, version string
	licence       string // in SPDX's words
	text          []byte // of all its files about licences
}

// thirdParty are the modules by path, Go's own library first.
type thirdParty []module

// goLibrary is the name of Go's own library in the list.
const goLibrary = "std"

// findLicences takes together the licences of every module that any of the
// programs has in it.
func (b *builder) findLicences() (thirdParty, error) {
	installed, err := b.goTool(b.root, nil, "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(installed), "\n")
	std, err := licenceOf(goLibrary, strings.TrimPrefix(version, "go"), root)
	if err != nil {
		return nil, err
	}
	all := thirdParty{std}
	for _, system := range []string{"linux", "windows"} {
		for _, arch := range architectures {
			list, err := b.goTool(b.root, []string{"GOOS=" + system, "GOARCH=" + arch}, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/"+name)
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(list) {
				f := strings.Split(strings.TrimSpace(line), "\t")
				if len(f) != 3 || slices.ContainsFunc(all, func(m module) bool { return m.path == f[0] }) {
					continue
				}
				m, err := licenceOf(f[0], f[1], f[2])
				if err != nil {
					return nil, err
				}
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all[1:], func(a, b module) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// kinds are licences by a sentence that is in no other.
var kinds = []struct{ licence, has string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD-3-Clause", "Neither the name of"},
}

// licenceOf reads the files about licences in a folder. A licence that nobody has
// looked at yet is refused.
func licenceOf(path, version, dir string) (module, error) {
	m := module{path: path, version: version}
	list, err := os.ReadDir(dir)
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range list {
		stem, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
		if !e.Type().IsRegular() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, stem) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return m, err
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		m.text = append(m.text, strings.TrimRight(string(text), "\n")+"\n\n"...)
		words := strings.Join(strings.Fields(string(text)), " ")
		for _, k := range kinds {
			if m.licence == "" && strings.Contains(words, k.has) {
				m.licence = k.licence
			}
		}
	}
	if m.licence == "" {
		return m, fmt.Errorf("%s %s in %s has no licence that is known here: see licences.go", path, version, dir)
	}
	return m, nil
}

// text is the file for the programs' users.
func (t thirdParty) text() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s is under the MIT licence, see LICENSE. What else is linked into it:\n\n", name)
	line := strings.Repeat("=", 72)
	for _, m := range t {
		title := m.path + " " + m.version
		if m.path == goLibrary {
			title = "Go's runtime and standard library " + m.version
		}
		fmt.Fprintf(&out, "%s\n%s (%s)\n%s\n\n%s", line, title, m.licence, line, m.text)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n')
}
