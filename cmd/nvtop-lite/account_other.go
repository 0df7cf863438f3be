//go:build !linux

package main

import "os/user"

// currentAccount is the account of this process, "" where it has no name.
func currentAccount() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
