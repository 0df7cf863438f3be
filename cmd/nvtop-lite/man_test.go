package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

const manPage = "../../docs/nvtop-lite.1"

// roff escapes a text, in which code stands between backticks.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "←", `\(<-`, "→", `\(->`, "↑", `\(ua`, "↓", `\(da`, "'", `\(aq`, `"`, `\(dq`).Replace(text)
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = `\fB` + parts[i] + `\fR`
	}
	return strings.Join(parts, "")
}

// fillLines breaks a text into lines of at most 78 bytes, none of which a
// formatter takes for a request.
func fillLines(text string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(text) {
		switch {
		case width == 0:
		case width+1+len(word) > 78:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		if width == 0 && word[0] == '.' {
			word = `\&` + word
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

// columns reads entries of --help, whose texts stand in a column of their own.
func columns(block string, width int) (entries [][2]string) {
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, "\n")
		left, text := line, ""
		if len(line) > width {
			left, text = line[:width], line[width:]
		}
		if left = strings.TrimSpace(left); left != "" {
			entries = append(entries, [2]string{left, text})
		} else {
			entries[len(entries)-1][1] += " " + text
		}
	}
	return entries
}

// table reads the rows of a table of the README, by its first row.
func table(t *testing.T, head string) (rows [][2]string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(readme), "\n"+head+"\n|---|---|\n")
	if !ok {
		t.Fatalf("the README has no table %q", head)
	}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 {
			break
		}
		rows = append(rows, [2]string{strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(cells[1], " |")})
	}
	return rows
}

// writeManPage makes the page from --help, the tables of the parser and those of
// the README.
func writeManPage(t *testing.T, date string) string {
	t.Helper()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	entry := func(term, text string) { line(".TP\n%s\n%s", term, fillLines(roff(text))) }
	parts := strings.Split(usage, "\n\n")
	if len(parts) != 6 {
		t.Fatalf("--help has %d parts", len(parts))
	}
	called := columns(strings.Replace(parts[1], "usage:", "      ", 1), 40)
	line(`.\" Made by a test of cmd/nvtop-lite from --help and README.md: go generate ./cmd/nvtop-lite`)
	line(`.TH NVTOP\-LITE 1 %s "nvtop\-lite %s"`, date, version)
	line(".SH NAME\nnvtop\\-lite \\- what the NVIDIA GPUs of a machine do")
	line(".SH SYNOPSIS")
	word := regexp.MustCompile(`[A-Z]{2,}|flags`)
	for i, c := range called {
		if i > 0 {
			line(".br")
		}
		name, rest, _ := strings.Cut(c[0], " ")
		if of, more, _ := strings.Cut(rest, " "); commandOf(of) != nil {
			name, rest = name+" "+of, more
		}
		line(".B %s\n%s", roff(name), word.ReplaceAllString(roff(rest), `\fI$0\fR`))
	}
	line(".SH DESCRIPTION\n%s", fillLines(roff(parts[0])))
	line(".PP\n%s", fillLines(roff(parts[4])))
	line(".SH COMMANDS")
	for _, c := range called[1:] {
		name := strings.Fields(c[0])[1]
		text := c[1] + "."
		if takes := commandOf(name).takes; takes != nil {
			text += " Flags: `--" + strings.Join(takes, "`, `--") + "`."
		}
		entry(`\fB`+name+`\fR`, text)
	}
	line(".SH OPTIONS\nThose of a command stand with it; all take \\fB\\-\\-help\\fR and \\fB\\-\\-version\\fR.")
	flag := regexp.MustCompile(`-\w\b|--[-a-z]+`)
	for _, f := range columns(parts[2], 23) {
		term := roff(flag.ReplaceAllString(f[0], "`$0`"))
		entry(regexp.MustCompile(` ([A-Z]+)$`).ReplaceAllString(term, ` \fI$1\fR`), f[1])
	}
	for _, s := range []struct{ title, head string }{
		{"KEYS", "| key | |"}, {"EXIT STATUS", "| exit code | |"}, {"ENVIRONMENT", "| environment | |"},
	} {
		line(".SH %s", s.title)
		for _, row := range table(t, s.head) {
			entry(roff(row[0]), row[1])
		}
		if s.title == "EXIT STATUS" {
			line(".PP\n%s", fillLines(roff(parts[5][strings.Index(parts[5], "doctor:"):])))
		}
	}
	line(".SH FILES")
	for _, row := range [][2]string{
		{"`libnvidia-ml.so.1`", "the driver's library. On WSL that below /usr/lib/wsl comes first; `nvtop-lite doctor` lists what was tried"},
		{"`/proc`, `/sys`, `/dev`", "what the machine, its processes and a Jetson tell; only read"},
		{"`nvtop-lite-crash-*.txt`", "in the folder for temporary files ($TMPDIR): the trace of a crash of the program, which names it"},
	} {
		entry(roff(row[0]), row[1])
	}
	line(".PP\nThere is no configuration file.")
	line(".SH SEE ALSO\n.BR nvidia\\-smi (1)")
	return b.String()
}

// TestManPageIsFresh but for its date, which is of the day it was made.
func TestManPageIsFresh(t *testing.T) {
	old, _ := os.ReadFile(manPage)
	date := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(string(old))
	switch fresh := writeManPage(t, date); {
	case fresh == string(old):
	case updating():
		if err := os.WriteFile(manPage, []byte(writeManPage(t, time.Now().UTC().Format(time.DateOnly))), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not fresh: go generate ./cmd/nvtop-lite", manPage)
	}
}

// TestManPage as a formatter shows it.
func TestManPage(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("mandoc is missing")
		}
		t.Skip("mandoc is missing: apt-get install --no-install-recommends mandoc")
	}
	if out, err := exec.Command("mandoc", "-Tlint", manPage).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	out, err := exec.Command("mandoc", "-Tutf8", "-O", "width=100", manPage).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "") // bold is struck twice
	for i := range flags {
		f := &flags[i]
		want := "--" + f.long
		if f.short != "" {
			want = "-" + f.short + ", " + want
		}
		if f.value != "" {
			want += " " + strings.TrimPrefix(f.value, "[-]")
		}
		if !strings.Contains(text, "\n       "+want) {
			t.Errorf("no %q", want)
		}
	}
	for i := range commands {
		if !strings.Contains(text, "       nvtop-lite "+commands[i].name+" ") || !strings.Contains(text, "\n       "+commands[i].name) {
			t.Errorf("no %s", commands[i].name)
		}
	}
	for _, want := range []string{"NVTOP_LITE_OPTS", "NVTOP_LITE_READ_ONLY", "NO_COLOR", "CUDA_VISIBLE_DEVICES", "128 + n", "doctor: 0 nothing critical was found; 1 it was.", "diff: the two cannot be compared", "such as 0.5, 500ms or 2s", "nvtop-lite-crash-*.txt", "← →"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
