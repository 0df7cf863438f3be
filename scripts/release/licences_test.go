package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLicences: every module that go.mod requires has its licence in the file, and
// so has Go.
func TestLicences(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := builder{settings: settings{root: root}, ctx: t.Context()}
	all, err := b.findLicences()
	if err != nil {
		t.Fatal(err)
	}
	required, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"Go's runtime and standard library": true}
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|require )([^\s(]+) (v\S+)`).FindAllStringSubmatch(string(required), -1) {
		want[m[1]+" "+m[2]] = true
	}
	if len(want) != len(all) {
		t.Errorf("%d licences, want %d", len(all), len(want))
	}
	parts := strings.Split(string(all.text()), strings.Repeat("=", 72)+"\n")[1:] // a title, a text, a title, …
	got := 0
	for title := range want {
		for i := 0; i+1 < len(parts); i += 2 {
			if strings.HasPrefix(parts[i], title) {
				got++
				if !strings.Contains(parts[i+1], "Copyright") && !strings.Contains(parts[i+1], "copyright") {
					t.Errorf("no licence of %s:\n%.500s", title, parts[i+1])
				}
			}
		}
	}
	if got != len(want) {
		t.Errorf("the file has %d of %v", got, want)
	}
}

// TestAnUnknownLicence is nothing to publish a program with.
func TestAnUnknownLicence(t *testing.T) {
	for what, files := range map[string]map[string]string{
		"none":           {"README": "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		"an unknown one": {"LICENSE": "You may not."},
	} {
		dir := t.TempDir()
		for file, text := range files {
			put(t, filepath.Join(dir, file), text)
		}
		if m, err := licenceOf("example.org/x", "v1.0.0", dir); err == nil || !strings.Contains(err.Error(), "example.org/x v1.0.0") {
			t.Errorf("%s: %q, %v", what, m.licence, err)
		}
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "COPYING.md"), "Permission is hereby granted, free of charge,\nto any person obtaining\r\na copy\n")
	put(t, filepath.Join(dir, "NOTICE.txt"), "of mine")
	if m, err := licenceOf("x", "v1", dir); err != nil || m.licence != "MIT" || !strings.HasSuffix(string(m.text), "a copy\n\nof mine\n\n") {
		t.Errorf("%s %q, %v", m.licence, m.text, err)
	}
}
