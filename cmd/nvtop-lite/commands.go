package main

import (
	"fmt"
	"slices"
	"strings"
)

// command is a word that makes something else of the program than a monitor.
type command struct {
	name     string
	operands []string // what they are called
	takes    []string // flags, besides help and version
}

const (
	commandDoctor     = "doctor"
	commandRecord     = "record"
	commandReplay     = "replay"
	commandSummary    = "summary"
	commandDiff       = "diff"
	commandCompletion = "completion"
)

// commands stand in the order of --help.
var commands = []command{
	{commandRecord, []string{"FILE"}, []string{"interval", "count", "for", "gpus", "nvml", "root", "demo", "wake", "timeout", "no-commands", "no-processes"}},
	{commandReplay, []string{"FILE"}, []string{"speed", "at", "gpus", "view", "filter", "user", "sort", "color", "ascii", "no-mouse"}},
	{commandSummary, []string{"FILE"}, []string{"json", "gpus", "color", "ascii"}},
	{commandDiff, []string{"OLD", "NEW"}, []string{"json", "gpus", "at", "color", "ascii"}},
	{commandDoctor, nil, []string{"json", "quiet", "gpus", "nvml", "root", "demo", "wake", "timeout", "color", "ascii"}},
	{commandCompletion, []string{"bash|zsh|fish|powershell"}, nil},
}

// commandOf returns the command of a name, nil where there is none.
func commandOf(name string) *command {
	for i := range commands {
		if commands[i].name == name {
			return &commands[i]
		}
	}
	return nil
}

// usage is the line of --help that says how the command is called.
func (c *command) usage() string {
	call := "nvtop-lite " + c.name
	_, words, _ := strings.Cut(usage, call)
	words, _, _ = strings.Cut(words, "  ") // which is between the columns
	return "usage: " + call + words
}

// takes reports whether the program, as it is called, takes a flag.
func (o *options) takes(name string) bool {
	if c := commandOf(o.command); c != nil {
		return slices.Contains(c.takes, name) || name == "help" || name == "version"
	}
	return !find(name, false).commandOnly
}

// setCommand takes an argument that is no flag: the command, then its operands.
func (o *options) setCommand(word string) error {
	c := commandOf(o.command)
	switch {
	case o.inDefaults || c == nil && commandOf(word) == nil:
		return &usageError{what: fmt.Sprintf("%q: no such command", word), hint: "there are record, replay, summary, diff, doctor and completion; --help says more"}
	case c == nil:
		o.command = word
	case len(o.operands) < len(c.operands):
		if word == "" && c.name != commandCompletion {
			return &usageError{what: c.name + ": an empty name is no file"}
		}
		o.operands = append(o.operands, word)
		if c.name == commandCompletion {
			return oneOf(c.name, word, c.shells())
		}
	default:
		return &usageError{what: fmt.Sprintf("%q: %s takes no more words", word, c.name), hint: c.usage()}
	}
	return nil
}

// checkCommand looks whether the command has its operands, and whether it takes
// the flags that were given.
func (o *options) checkCommand() error {
	if c := commandOf(o.command); c != nil && len(o.operands) < len(c.operands) {
		return &usageError{what: fmt.Sprintf("%s needs %s", c.name, strings.Join(c.operands[len(o.operands):], " and ")), hint: c.usage()}
	}
	for _, name := range o.given {
		switch {
		case o.takes(name):
		case o.command != "":
			return &usageError{what: o.command + " does not take --" + name}
		default:
			var with []string
			for _, c := range commands {
				if slices.Contains(c.takes, name) {
					with = append(with, c.name)
				}
			}
			return &usageError{what: fmt.Sprintf("--%s goes with the command %s", name, strings.Join(with, " or "))}
		}
	}
	if o.quiet && o.mode == modeJSON {
		return &usageError{what: "--quiet and --json: one output at a time"}
	}
	return nil
}
