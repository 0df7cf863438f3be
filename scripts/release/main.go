// Command release makes the files of a release: scripts/release.sh says which,
// and starts it.
//
// Equal sources and an equal Go give equal files, byte by byte, wherever and
// whenever they are built: every time stamp is SOURCE_DATE_EPOCH, or that of the
// commit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// name is the program's.
const name = "nvtop-lite"

// errUsage goes before what is wrong with how the script was called.
var errUsage = errors.New("usage: scripts/release.sh VERSION [FOLDER]")

func main() {
	root := flag.String("root", "../..", "the `folder` of the module")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "release:", errUsage) }
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, *root, flag.Args(), os.Getenv)
	if ctx.Err() != nil {
		err = errors.New("stopped")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run makes a release in a folder of its own, which gets its name when it is
// complete.
func run(ctx context.Context, root string, args []string, getenv func(string) string) error {
	s, err := newSettings(ctx, root, args, getenv)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(s.out), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := builder{settings: s, ctx: ctx, work: work, out: filepath.Join(work, "out")}
	if err := os.Mkdir(b.out, 0o755); err != nil {
		return err
	}
	if err := b.make(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Chmod(b.out, 0o755); err != nil { // whatever the umask is
		return err
	}
	if err := os.Rename(b.out, s.out); err != nil {
		return err
	}
	fmt.Printf("%s %s is in %s\n", name, s.version, s.out)
	return nil
}
