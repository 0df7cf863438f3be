//go:build linux

package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	"nvtop-lite/internal/fakenvml"
)

// The terminal that programs are shown on.
const columns, rows = 110, 30

// terminal is one with a program on it, on Linux or, through Wine's console, on
// Windows.
type terminal struct {
	t     *testing.T
	log   string // all that was written on it, with a line of script's own before
	cells string // on Windows what the program wrote on its console; "" where nobody looks
	told  string // what console.c says
	keys  io.WriteCloser
	ended chan error
}

// onTerminal starts a command on a terminal.
func onTerminal(t *testing.T, env []string, command string) *terminal {
	t.Helper()
	script := tool(t, "script", "bsdutils")
	log := filepath.Join(t.TempDir(), "log")
	// Of Ctrl+C the terminal makes a signal, which must not end a shell.
	cmd := exec.Command(script, "-qefc", fmt.Sprintf("stty rows %d cols %d; exec %s", rows, columns, command), log)
	cmd.Env = append(append(environment(), "TERM=xterm-256color"), env...)
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, log: log, keys: keys, ended: make(chan error, 1)}
	go func() { term.ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return term
}

var consoles sync.Map // folder → func() (string, error)

// onConsole starts the program on Wine's console. Where looked is set what it draws
// can be seen.
func (w *prefix) onConsole(t *testing.T, args string, looked bool) *terminal {
	t.Helper()
	once, _ := consoles.LoadOrStore(buildDir, sync.OnceValues(func() (string, error) {
		helper := filepath.Join(buildDir, "console.exe")
		out, err := exec.Command("x86_64-w64-mingw32-gcc", "-O1", "-Wall", "-Werror", "-o", helper, filepath.Join("testdata", "console.c"), "-lntdll").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		return helper, err
	}))
	helper, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	told, cells, more := filepath.Join(dir, "told"), "", ""
	if looked {
		cells = filepath.Join(dir, "cells")
		more = " 'Z:" + cells + "'"
	}
	term := onTerminal(t, w.env, fmt.Sprintf("wine '%s' 'Z:%s' 'Z:%s %s'%s", helper, told, program(t, "windows", "amd64"), args, more))
	term.told, term.cells = told, cells
	return term
}

// written is all that the program wrote.
func (c *terminal) written() string {
	if c.cells == "" {
		text, _ := os.ReadFile(c.log)
		_, rest, _ := strings.Cut(string(text), "\n")
		return rest
	}
	b, _ := os.ReadFile(c.cells)
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	// What was written before console.c looked on has moved to new rows.
	var text strings.Builder
	left := 0
	for _, r := range utf16.Decode(units) {
		if r == unwritten {
			left++
			continue
		}
		for ; left > 0; left -= columns {
			text.WriteString("\r\n")
		}
		left = 0
		text.WriteRune(r)
	}
	return text.String()
}

// unwritten is where nobody has written on Wine's console.
const unwritten = 0xE000

// until waits for something to become true.
func (c *terminal) until(what string, ok func() bool) {
	c.t.Helper()
	for late := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			c.t.Fatalf("never %s; on the screen is\n%s", what, strings.Join(picture(c.t, c.written()), "\n"))
		}
	}
}

// see waits until the program has written a text.
func (c *terminal) see(text string) {
	c.t.Helper()
	c.until("there was "+text, func() bool { return strings.Contains(c.written(), text) })
}

func (c *terminal) press(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.keys, keys); err != nil {
		c.t.Fatal(err)
	}
}

// kill makes console.c kill the program.
func (c *terminal) kill() {
	c.t.Helper()
	if err := os.WriteFile(c.told+".kill", nil, 0o666); err != nil {
		c.t.Fatal(err)
	}
}

// number is what console.c says in a file.
func (c *terminal) number(name string) int {
	text, _ := os.ReadFile(c.told + "." + name)
	n, _ := strconv.Atoi(string(text))
	return n
}

// end waits until the program has ended.
func (c *terminal) end() {
	c.t.Helper()
	select {
	case err := <-c.ended:
		if err != nil {
			c.t.Fatal(err)
		}
	case <-time.After(patience):
		c.t.Fatalf("it did not end; there was %q", c.written())
	}
}

// left checks that the console is as it was, and the exit code.
func (c *terminal) left(code int) {
	c.t.Helper()
	text, _ := os.ReadFile(c.told)
	lines := strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n")
	if len(lines) < 3 || lines[0] != lines[1] || strings.Contains(strings.ToLower(lines[0]), "0xffffffff") || lines[2] != strconv.Itoa(code) {
		c.t.Errorf("modes before and after, and exit code: %q; want %d", lines, code)
	}
}

// TestConsoleIsLeftAsItWas: whatever is shown on it, and however that ends.
func TestConsoleIsLeftAsItWas(t *testing.T) {
	w := wine(t)
	good := "--nvml Z:" + foreign(t, "windows", "amd64", stillScenario(1))
	for name, c := range map[string]struct {
		args, shows string
		out         func(c *terminal)
		code        int
	}{
		"text":   {"--once " + good, "H100", nil, 0},
		"doctor": {"doctor " + good, "NVML_SUCCESS", nil, 0},
		"Ctrl+C": {good, "H100", func(c *terminal) { c.press("\x03") }, 0},
		"killed": {good, "H100", (*terminal).kill, 137},
	} {
		t.Run(name, func(t *testing.T) {
			term := w.onConsole(t, c.args, false)
			term.see(c.shows)
			if c.out != nil {
				c.out(term)
			}
			term.end()
			term.left(c.code)
		})
	}
}

// TestWindowsShowsTheSame: the live screen has the values of Linux's, also while
// they change, and has them again after a fault in the library.
func TestWindowsShowsTheSame(t *testing.T) {
	w := wine(t)
	const changed = "gpu all util 71\ngpu all power 333000\ngpu 1 temperature 66\ngpu all memory.used 30GiB\n"
	scenario := stillScenario(2)
	library := foreign(t, "windows", "amd64", scenario)
	fake := fakenvml.New(t, "580", scenario)
	own := "" // a process that there is only on Windows
	set := func(text string) {
		t.Helper()
		fake.SetScenario(text)
		there := filepath.Join(filepath.Dir(library), "scenario.txt")
		if err := os.WriteFile(there+".new", []byte(text+own), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(there+".new", there); err != nil {
			t.Fatal(err)
		}
	}
	windows := w.onConsole(t, "-i 0.2 --nvml Z:"+library, true)
	linux := onTerminal(t, nil, fmt.Sprintf("'%s' -i 0.2 --nvml '%s'", program(t, "linux", "amd64"), fake.Path()))
	same := func(texts ...string) {
		t.Helper()
		var got, want string
		for late := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			got, want = values(t, windows.written()), values(t, linux.written())
			if got == want && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(want, text) }) {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("with %q the screen has on Windows\n%s\nand on Linux\n%s", texts, got, want)
			}
		}
	}
	same("44%", "280 / 700 W", "45°C", "driver 580.95.05")
	own = fmt.Sprintf("gpu 0 process compute %d 1048576\n", windows.number("pid"))
	set(scenario)
	windows.until("was a process there that there is", func() bool {
		return strings.Contains(strings.Join(picture(t, windows.written())[11:], ""), "nvtop-lite.exe")
	})
	first := windows.number("count")
	began := strings.Count(windows.written(), "\x1b[?2026l")
	set(scenario + changed)
	same("71%", "333 / 700 W", "66°C", "30.0 / 79.6 GiB")
	windows.until("was drawn often", func() bool { return strings.Count(windows.written(), "\x1b[?2026l") > began+30 })
	if n := windows.number("count"); first == 0 || n > first+10 {
		t.Errorf("it holds %d handles, and %d at first", n, first)
	}
	set(scenario + changed + "fault nvmlDeviceGetTemperatureV gpu 0 segv\n")
	for _, c := range []*terminal{windows, linux} {
		c.until("was there how the driver process ended", func() bool {
			text := strings.Join(picture(t, c.written()), "\n")
			return strings.Contains(text, "driver process ended") && strings.Contains(text, "stale")
		})
	}
	set(scenario + "gpu all util 83\n")
	same("83%", "280 / 700 W", "45°C")
	for _, c := range []*terminal{windows, linux} {
		if text := strings.Join(picture(t, c.written()), "\n"); strings.Contains(text, "stale") {
			t.Errorf("something is stale:\n%s", text)
		}
		c.press("q")
		c.end()
	}
	windows.left(0)
}

// values are the words of the boxes of the GPUs, and what the header says of the
// driver: not the graphs, which depend on how many refreshes there were.
func values(t *testing.T, written string) string {
	t.Helper()
	lines := picture(t, written)
	_, driver, _ := strings.Cut(lines[0], "driver ")
	driver, _, _ = strings.Cut(driver, "   ") // the interval follows
	all := []string{"driver " + driver}
	for _, line := range lines[1:] {
		if strings.Contains(line, "PID") {
			break
		}
		if strings.Contains(line, "╰") {
			continue // how much is known of processes depends on the system
		}
		words := strings.FieldsFunc(line, func(r rune) bool {
			return r == ' ' || r >= 0x2500 && r < 0x25A0 || r >= 0x2800 && r < 0x2900 // boxes, blocks, Braille
		})
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "\n")
}

// picture is what a terminal shows of what a live screen wrote, whatever it was
// before and after it.
func picture(t *testing.T, written string) []string {
	t.Helper()
	var screen [rows][columns]rune
	erase := func(row []rune) {
		for i := range row {
			row[i] = ' '
		}
	}
	for y := range screen {
		erase(screen[y][:])
	}
	x, y := 0, 0
	text := []rune(written)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\r':
			x = 0
		case c == '\n':
			y = min(y+1, rows-1)
		case c == '\b':
			x = max(x-1, 0)
		case c == '\x1b':
			end := i + 2
			for end < len(text) && !unicode.IsLetter(text[end]) {
				end++
			}
			if end >= len(text) {
				i = end // the rest is not there yet
				continue
			}
			parameters, final := string(text[i+2:end]), text[end]
			i = end
			first, second, _ := strings.Cut(parameters, ";")
			a, b := 1, 1
			if n, err := strconv.Atoi(first); err == nil {
				a = n
			}
			if n, err := strconv.Atoi(second); err == nil {
				b = n
			}
			switch final {
			case 'H':
				y, x = min(a, rows)-1, min(b, columns)-1
			case 'G':
				x = min(a, columns) - 1
			case 'C':
				x = min(x+a, columns-1)
			case 'B':
				y = min(y+a, rows-1)
			case 'K':
				erase(screen[y][x:])
			case 'J':
				for y := range screen {
					erase(screen[y][:])
				}
			case 'm', 'h', 'l':
			default:
				t.Fatalf("the sequence %q", "\x1b["+parameters+string(final))
			}
		default:
			screen[y][min(x, columns-1)] = c
			x = min(x+1, columns)
		}
	}
	lines := make([]string, rows)
	for y := range screen {
		lines[y] = strings.TrimRight(string(screen[y][:]), " ")
	}
	return lines
}
