//go:build unix

package record

import (
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

// TestModes: a new recording is its owner's alone, an old one stays as it is,
// and a link is followed.
func TestModes(t *testing.T) {
	l := recording(2)
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	defer syscall.Umask(syscall.Umask(0))
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	mode := func() os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	record(t, link, l[:1])
	if mode() != 0o600 {
		t.Errorf("new: %v", mode())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	record(t, link, l[1:])
	if mode() != 0o644 {
		t.Errorf("appended to: %v", mode())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, error %v", info, err)
	}
	if got, err := readAll(open(t, link)); err != nil || len(got) != 2 {
		t.Errorf("read %v, error %v", got, err)
	}
}

// TestPipe: a recording can go through a pipe, in which nothing is sought.
func TestPipe(t *testing.T) {
	l := recording(3)
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(r *Reader) (int, error){
		func(r *Reader) (int, error) {
			got, err := readAll(r)
			if !reflect.DeepEqual(got, upTo(3)) {
				t.Errorf("read %v", got)
			}
			return 2, err
		},
		func(r *Reader) (int, error) {
			s, err := r.Last()
			if err != nil {
				return 0, err
			}
			return number(s), nil
		},
		func(r *Reader) (int, error) {
			s, err := r.At(snapshot(2, 0).Time)
			if err != nil {
				return 0, err
			}
			return number(s), nil
		},
		func(r *Reader) (int, error) {
			first, last, err := r.Span()
			if !first.Equal(start) {
				t.Errorf("begins at %v", first)
			}
			return int(last.Sub(start).Seconds()), err
		},
	} {
		done := make(chan error)
		go func() {
			w, err := Create(path)
			if err != nil {
				done <- err
				return
			}
			for _, line := range l {
				if err := w.Write([]byte(line)); err != nil {
					done <- err
					return
				}
			}
			done <- w.Close()
		}()
		r := open(t, path)
		if n, err := read(r); err != nil || n != 2 {
			t.Errorf("%d, error %v", n, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.Close() // or the next writer would not wait for the next reader
	}
	go os.WriteFile(path, []byte(join(l)), 0)
	p := Play(open(t, path), PlayOptions{})
	if f := <-p.Frames(); f.Err == nil || f.Err.Error() != path+" cannot be replayed: it is no regular file, in which one can go back" {
		t.Errorf("played: %v", f.Err)
	}
	if _, ok := <-p.Frames(); ok {
		t.Error("more frames")
	}
}
