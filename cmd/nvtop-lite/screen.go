package main

import (
	"errors"
	"os"
	"os/user"

	"nvtop-lite/internal/ansi"
	"nvtop-lite/monitor/apart"
	"nvtop-lite/monitor/live"
	"nvtop-lite/monitor/screen"
)

// screenOf runs the live screen.
func screenOf(o *options, getenv func(string) string, vt bool) int {
	term, err := ansi.Open(os.Stdin, os.Stdout)
	if err != nil {
		return complain(err)
	}
	setup := o.setup()
	err = live.Run(live.Options{
		Terminal: term,
		Screen:   screen.New(screen.Options{Level: o.level(getenv, true, vt), ASCII: o.plain(getenv), Version: version, User: account(o)}),
		Request:  setup.Request,
		Client: func(crash *os.File) *apart.Client {
			return apart.Start(apart.Options{Setup: setup, Build: build, Crash: crash})
		},
	})
	var sig live.ErrSignal
	switch {
	case err == nil:
		return codeDone
	case errors.As(err, &sig):
		return sig.ExitCode()
	case errors.Is(err, live.ErrHangup):
		return codeHangup
	}
	return complain(err)
}

// account is the account whose processes go without an owner on the screen.
func account(o *options) string {
	if o.demo {
		return ""
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
