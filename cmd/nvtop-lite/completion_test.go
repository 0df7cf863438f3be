package main

import (
	"bytes"
	"compress/gzip"
	stdflag "flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// updating reports whether the files that tests make are to be written anew.
func updating() bool {
	f := stdflag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// said is the beginning of what --help says behind key that can stand alone.
func said(key string) string {
	_, text, _ := strings.Cut(usage, key)
	_, text, _ = strings.Cut(text, "  ") // which is between the columns
	if n := strings.IndexAny(text, ":;(\n"); n >= 0 {
		text = text[:n]
	}
	return strings.Trim(text, ", ")
}

// completionRows is the table of the completion scripts. What a flag or command
// takes is "." for a file, "/" for a folder, "-" for what nobody can guess, or
// words.
func completionRows() []string {
	var rows []string
	add := func(names, of, takes, text string) {
		rows = append(rows, names+"|"+of+"|"+takes+"|"+text)
	}
	for i := range commands {
		c := &commands[i]
		takes := ""
		if c.name == commandCompletion {
			takes = strings.Join(c.shells(), " ")
		} else if c.operands != nil {
			takes = "."
		}
		add(c.name, "live", takes, said("nvtop-lite "+c.name))
	}
	for i := range flags {
		f := &flags[i]
		names := "--" + f.long
		if f.short != "" {
			names += " -" + f.short
		}
		var of []string
		if (&options{}).takes(f.long) {
			of = append(of, "live")
		}
		for i := range commands {
			if name := commands[i].name; (&options{command: name}).takes(f.long) {
				of = append(of, name)
			}
		}
		takes := map[string]string{"": "", "FILE": ".", "PATH": ".", "DIR": "/"}
		what, ok := takes[f.value]
		switch {
		case ok:
		case f.words == nil:
			what = "-"
		default:
			what = strings.Join(f.words(), " ")
			if f.value[0] == '[' { // [-]
				what += " -" + strings.ReplaceAll(what, " ", " -")
			}
		}
		add(names, strings.Join(of, " "), what, said("--"+f.long))
	}
	return rows
}

// TestCompletionsAreFresh: they offer what the parser takes, in the words of --help.
func TestCompletionsAreFresh(t *testing.T) {
	rows := completionRows()
	for _, row := range rows {
		if cells := strings.Split(row, "|"); len(cells) != 4 || len(cells[3]) < 6 || len(cells[3]) > 60 || strings.ContainsAny(row, "'\"\\$`:") {
			t.Errorf("a row is %q", row)
		}
	}
	isRow := regexp.MustCompile(`^[-a-z 0-9A-Z]+\|[a-z ]+\|[^|]*\|[^|']*$`)
	var all []string
	for _, shell := range commandOf(commandCompletion).shells() {
		name := filepath.Join("completion", shell)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		at := slices.IndexFunc(lines, isRow.MatchString)
		if at < 0 {
			t.Fatalf("%s has no table", name)
		}
		fresh := slices.Insert(slices.DeleteFunc(slices.Clone(lines), isRow.MatchString), at, rows...)
		if updating() {
			if err := os.WriteFile(name, []byte(strings.Join(fresh, "\n")), 0o666); err != nil {
				t.Fatal(err)
			}
		} else if !slices.Equal(lines, fresh) {
			t.Errorf("%s is not fresh: go generate ./cmd/nvtop-lite", name)
		}
		all = append(all, strings.Join(fresh, "\n"))
	}
	if updating() {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if _, err := z.Write([]byte(strings.Join(all, "\x00"))); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("completion.gz", packed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return // what is built into this test is the old one
	}
	for i, shell := range commandOf(commandCompletion).shells() {
		if completion(shell) != all[i] {
			t.Errorf("what is packed for %s is not fresh: go generate ./cmd/nvtop-lite", shell)
		}
	}
}

// TestHelpHasWhatTheParserTakes, in the same order and no more.
func TestHelpHasWhatTheParserTakes(t *testing.T) {
	var want []string
	for i := range flags {
		f := &flags[i]
		name := "      --" + f.long
		if f.short != "" {
			name = "  -" + f.short + ", --" + f.long
		}
		if f.value != "" {
			name += " " + strings.TrimPrefix(f.value, "[-]")
		}
		want = append(want, name)
		if f.words != nil {
			for _, w := range f.words() {
				_, text, _ := strings.Cut(usage, name+" ")
				if !slices.Contains(strings.FieldsFunc(text[:200], func(r rune) bool { return strings.ContainsRune(" ,;:\n", r) }), w) {
					t.Errorf("--help does not say that --%s takes %s", f.long, w)
				}
			}
		}
	}
	got := regexp.MustCompile(`(?m)^(  -\w, |      )--[-a-z]+( [A-Z]+)?`).FindAllString(usage, -1)
	if !slices.Equal(got, want) {
		t.Errorf("--help has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, list, _ := strings.Cut(usage, "\nFlags of the commands")
	list, _, _ = strings.Cut(list, "\n\n")
	fields := strings.Fields(list)
	_, err := parse([]string{"no-such-command"})
	for i := range commands {
		c := &commands[i]
		if hint := err.(*usageError).hint; !strings.Contains(hint, c.name) {
			t.Errorf("%q does not name %s", hint, c.name)
		}
		if !strings.Contains(usage, "nvtop-lite "+c.name+" ") {
			t.Errorf("--help does not have %s", c.name)
		}
		at := slices.Index(fields, c.name)
		if at < 0 && c.takes == nil {
			continue
		}
		var has []string
		for _, name := range fields[at+1:] {
			if name[0] != '-' {
				break
			}
			name = strings.TrimLeft(name, "-")
			has = append(has, find(name, true).long)
		}
		slices.Sort(has)
		if want := slices.Sorted(slices.Values(c.takes)); !slices.Equal(has, want) {
			t.Errorf("--help has %q for %s, want %q", has, c.name, want)
		}
	}
}

func TestCompletionNeedsAShell(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"completion", "completion needs bash|zsh|fish|powershell"},
		{"completion tcsh", `completion: "tcsh" is none of bash, zsh, fish, powershell`},
		{"completion bash zsh", `"zsh": completion takes no more words`},
		{"completion bash --json", "completion does not take --json"},
	} {
		_, err := parse(strings.Fields(tt.args))
		checkUsage(t, tt.args, err, tt.want)
	}
}
