package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

// TestArchivesAreOfTheirMembersAlone: neither the order, nor the zone of the
// builder, nor the hour makes a difference.
func TestArchivesAreOfTheirMembersAlone(t *testing.T) {
	members := []member{{"b", 0o755, []byte("program")}, {"c/d", 0o644, []byte("text")}, {"a", 0o644, nil}}
	when := time.Unix(1764500001, 0) // a zip counts in steps of two seconds
	zone := time.Local
	defer func() { time.Local = zone }()
	var tars, zips [2][]byte
	for i := range tars {
		time.Local = time.FixedZone("", i*9*3600)
		var err1, err2 error
		tars[i], err1 = tarball("folder", members, time.Unix(when.Unix(), 0))
		zips[i], err2 = zipFile(members, time.Unix(when.Unix(), 0))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(members)
	}
	if !bytes.Equal(tars[0], tars[1]) || !bytes.Equal(zips[0], zips[1]) {
		t.Error("the second is not as the first")
	}
	packed, err := gzip.NewReader(bytes.NewReader(tars[0]))
	if err != nil {
		t.Fatal(err)
	}
	if packed.Name != "" || !packed.ModTime.IsZero() {
		t.Errorf("gzip tells %q, %v", packed.Name, packed.ModTime)
	}
	var got []string
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		got = append(got, fmt.Sprintf("%s %o %q", h.Name, h.Mode, text))
		if !h.ModTime.Equal(when) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%+v", h)
		}
	}
	if want := []string{`folder/ 755 ""`, `folder/a 644 ""`, `folder/b 755 "program"`, `folder/c/ 755 ""`, `folder/c/d 644 "text"`}; !slices.Equal(got, want) {
		t.Errorf("the tarball has %q", got)
	}
	z, err := zip.NewReader(bytes.NewReader(zips[0]), int64(len(zips[0])))
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, f := range z.File {
		got = append(got, fmt.Sprintf("%s %v", f.Name, f.Mode()))
		if !f.Modified.Equal(when) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if want := []string{"a -rw-r--r--", "b -rwxr-xr-x", "c/d -rw-r--r--"}; !slices.Equal(got, want) {
		t.Errorf("the zip has %q", got)
	}
}
