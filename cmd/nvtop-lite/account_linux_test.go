package main

import (
	"os/user"
	"testing"
)

// TestCurrentAccount: the account is the one that the system's own look-up names.
func TestCurrentAccount(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	if got := currentAccount(); got != u.Username {
		t.Errorf("%q, want %q", got, u.Username)
	}
}
