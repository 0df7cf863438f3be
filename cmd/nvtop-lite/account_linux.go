package main

import (
	"os"

	"nvtop-lite/monitor/process"
)

// currentAccount is the account of this process, "" where it has no name. Package
// os/user would say the same, and make the program 7 kB larger.
func currentAccount() string {
	if name := process.Account(uint32(os.Getuid())); name != "" || os.Getenv("HOME") == "" {
		return name
	}
	return os.Getenv("USER")
}
