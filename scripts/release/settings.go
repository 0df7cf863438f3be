package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// settings are what a release is made of and where it goes.
type settings struct {
	root    string // the module's folder
	version string
	out     string    // does not exist yet
	time    time.Time // of everything in the files
	key     string    // for ssh-keygen; "" for no signature
	url     string    // where the files will lie; "" where nobody knows yet
	home    string    // the project's page; "" as there
}

// semver is a version as semver.org has it, without what a package manager would
// not sort: build metadata.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// constant is the version in the program's source.
var constant = regexp.MustCompile(`(?m)^const version = "(.*)"$`)

// newSettings takes what was asked for, and refuses what would not be a release.
func newSettings(ctx context.Context, root string, args []string, getenv func(string) string) (settings, error) {
	if len(args) < 1 || len(args) > 2 {
		return settings{}, errUsage
	}
	s := settings{version: args[0], key: getenv("NVTOP_LITE_SIGNING_KEY"), url: strings.TrimSuffix(getenv("NVTOP_LITE_URL"), "/"), home: getenv("NVTOP_LITE_HOMEPAGE")}
	if !semver.MatchString(s.version) {
		return s, fmt.Errorf("%q is no version such as 1.2.3 or 1.2.3-rc.1; %w", s.version, errUsage)
	}
	if s.home == "" {
		s.home = s.url
	}
	var err error
	if s.root, err = filepath.Abs(root); err != nil {
		return s, err
	}
	source, err := os.ReadFile(filepath.Join(s.root, "cmd", name, "main.go"))
	if err != nil {
		return s, err
	}
	if m := constant.FindSubmatch(source); m == nil {
		return s, fmt.Errorf("cmd/%s/main.go has no line const version = \"…\"", name)
	} else if string(m[1]) != s.version {
		return s, fmt.Errorf("the program is version %s, not %s: cmd/%s/main.go says so", m[1], s.version, name)
	}
	s.out = filepath.Join(s.root, "dist")
	if len(args) == 2 {
		if args[1] == "-" {
			return s, fmt.Errorf("a release is a folder of files, and not for standard output: - names none; %w", errUsage)
		}
		if s.out, err = filepath.Abs(args[1]); err != nil {
			return s, err
		}
	}
	if _, err := os.Lstat(s.out); err == nil {
		return s, fmt.Errorf("%s is there already: remove it, or name another folder", s.out)
	}
	if s.key != "" {
		if err := s.canSign(); err != nil {
			return s, err
		}
	}
	s.time, err = s.date(ctx, getenv("SOURCE_DATE_EPOCH"))
	return s, err
}

// canSign finds out before anything is built what would be found out at the end.
func (s *settings) canSign() (err error) {
	if s.key, err = filepath.Abs(s.key); err != nil {
		return err
	}
	if _, err := os.Stat(s.key); err != nil {
		return fmt.Errorf("NVTOP_LITE_SIGNING_KEY: %w", err)
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return errors.New("ssh-keygen is missing, which signs: it comes with OpenSSH")
	}
	return nil
}

// firstDate is before all dates that a zip can have.
var firstDate = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)

// date is the time of the release. A tree with changes that nobody has seen gives
// none; one without Git is the copy of a release, whose date must be told.
func (s *settings) date(ctx context.Context, epoch string) (time.Time, error) {
	if _, err := os.Stat(filepath.Join(s.root, ".git")); err == nil {
		changes, err := s.git(ctx, "status", "--porcelain")
		if err != nil {
			return time.Time{}, err
		}
		if first, rest, _ := strings.Cut(changes, "\n"); first != "" {
			more := ""
			if rest != "" {
				more = fmt.Sprintf(" and %d more", strings.Count(rest, "\n")+1)
			}
			return time.Time{}, fmt.Errorf("the tree has changes that are in no commit: %s%s", strings.TrimSpace(first), more)
		}
		if epoch == "" {
			if epoch, err = s.git(ctx, "log", "-1", "--format=%ct"); err != nil {
				return time.Time{}, err
			}
		}
	} else if epoch == "" {
		return time.Time{}, errors.New("this is no checkout of Git: SOURCE_DATE_EPOCH must say of when it is, in seconds since 1970")
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < firstDate.Unix() {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is no time in seconds since 1970 that lies after 1980", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// git asks Git about the module's folder, whoever it belongs to.
func (s *settings) git(ctx context.Context, args ...string) (string, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", errors.New("git is missing, which tells whether the tree is a commit")
	}
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-c", "safe.directory=" + s.root, "-C", s.root}, args...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}
