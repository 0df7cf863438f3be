//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// completed are command lines, and what can stand at their ends.
var completed = []struct{ line, want string }{
	{"", "completion diff doctor record replay summary"},
	{"re", "record replay"},
	{"--so", "--sort"},
	{"--sort c", "command cpu"},
	{"--sort ", "-command -cpu -dec -enc -gpu -host -mem -pid -sm -time -type -user command cpu dec enc gpu host mem pid sm time type user"},
	{"--color t", "truecolor"},
	{"--color=t", "--color=truecolor"},
	{"--csv", "--csv --csv-processes"},
	{"--view n", "numbers"},
	{"--interval ", ""},
	{"-i 5 --r", "--read-only --root"},
	{"--q", ""},
	{"record --no-", "--no-commands --no-processes"},
	{"replay --s", "--sort --speed"},
	{"doctor ", ""},
	{"doctor --q", "--quiet"},
	{"diff --a", "--ascii --at"},
	{"--filter record --no-m", "--no-mouse"},
	{"--filter doctor s", "summary"},
	{"--filter=x d", "diff doctor"},
	{"completion ", "bash fish powershell zsh"},
	{"--root /et", "/etc/"},
	{"-- ", "completion diff doctor record replay summary"},
	{"-- d", "diff doctor"},
	{"-- -", ""},
	{"--demo -- --", ""},
	{"doctor -- --q", ""},
	{"--demo=", ""},
	{"--demo=re", ""},
	{"doctor --demo=", ""},
	{"record --demo=", ""},
	{"-1=", ""},
}

// completions writes the script of a shell into a file, whose name it returns.
func completions(t *testing.T, shell string) string {
	t.Helper()
	r := run(t, nil, program(t, "linux", "amd64"), "completion", shell)
	says(t, r, 0, "")
	file := filepath.Join(t.TempDir(), "_nvtop-lite")
	if err := os.WriteFile(file, []byte(r.out), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// completes compares what a shell offers: words, one a line, in any order.
func completes(t *testing.T, line, got, want string) {
	t.Helper()
	words := strings.Fields(got)
	slices.Sort(words)
	if text := strings.Join(words, " "); text != want {
		t.Errorf("%q can end with\n%s\nwant\n%s", "nvtop-lite "+line, text, want)
	}
}

func TestFishCompletes(t *testing.T) {
	fish := tool(t, "fish", "fish")
	file := completions(t, "fish")
	var b strings.Builder
	fmt.Fprintf(&b, "source %s\n", file)
	for i, c := range completed {
		fmt.Fprintf(&b, "complete -C 'nvtop-lite %s'\necho =%d\n", c.line, i)
	}
	r := run(t, nil, fish, "--no-config", "-c", b.String())
	says(t, r, 0, "")
	rest := r.out
	for i, c := range completed {
		got, after, ok := strings.Cut(rest, fmt.Sprintf("=%d\n", i))
		if !ok {
			t.Fatalf("fish says %q", r.out)
		}
		rest = after
		var words []string
		for line := range strings.Lines(got) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t") // the text of it
			words = append(words, word)
		}
		completes(t, c.line, strings.Join(words, " "), c.want)
	}
	if !strings.Contains(r.out, "--sort\torder of the processes\n") {
		t.Errorf("no texts: %q", r.out)
	}
}

// TestBashCompletes: readline gives a=b as three words, and takes one of them.
func TestBashCompletes(t *testing.T) {
	bash := tool(t, "bash", "bash")
	file := completions(t, "bash")
	var b strings.Builder
	fmt.Fprintf(&b, "set -u\nsource %s\n", file) // as some have it in their shell
	b.WriteString("compopt() { printf '%s ' \"$*\"; }\n")
	for _, c := range completed {
		words := strings.Split(strings.ReplaceAll(c.line, "=", " = "), " ")
		if strings.HasSuffix(c.line, "=") { // at which the cursor stands
			words = words[:len(words)-1]
		}
		fmt.Fprintf(&b, "COMP_WORDS=(nvtop-lite '%s')\nCOMP_CWORD=%d\n_nvtop_lite\necho \"${COMPREPLY[*]-}\"\n", strings.Join(words, "' '"), len(words))
	}
	r := run(t, nil, bash, "--norc", "-c", b.String())
	says(t, r, 0, "")
	lines := strings.Split(r.out, "\n")
	for i, c := range completed {
		if strings.HasPrefix(c.line, "--root ") { // readline has the rest
			completes(t, c.line, lines[i], "-o dirnames")
			continue
		}
		want := c.want
		if flag, _, ok := strings.Cut(c.line, "="); ok {
			want = strings.TrimPrefix(want, flag+"=")
		}
		completes(t, c.line, lines[i], want)
	}
}

// TestZshCompletes: what zsh brings for completion is put in its place, so that the
// offers can be read.
func TestZshCompletes(t *testing.T) {
	zsh := tool(t, "zsh", "zsh")
	file := completions(t, "zsh")
	var b strings.Builder
	b.WriteString(`
		compdef() { }
		compset() { PREFIX=${PREFIX#*=} }
		_files() { print -r -- _files "$@" }
		_describe() { for o in $offers; do [[ ${o%%:*} == $PREFIX* ]] && print -rn -- "${o%%:*} "; done; print }
	`)
	fmt.Fprintf(&b, "source %s\n", file)
	for _, c := range completed {
		words := strings.Split(c.line, " ")
		fmt.Fprintf(&b, "words=(nvtop-lite '%s') CURRENT=%d PREFIX='%s'\n_nvtop_lite\n", strings.Join(words, "' '"), len(words)+1, words[len(words)-1])
	}
	r := run(t, nil, zsh, "-f", "-c", b.String())
	says(t, r, 0, "")
	lines := strings.Split(r.out, "\n")
	for i, c := range completed {
		want := c.want
		if flag, _, ok := strings.Cut(c.line, "="); ok {
			want = strings.TrimPrefix(want, flag+"=")
		} else if strings.HasPrefix(c.line, "--root ") {
			want = "-/ _files"
		}
		completes(t, c.line, lines[i], want)
	}
}

// typed is keys, and what must be on the screen before the next ones.
type typed struct{ keys, shows string }

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]`)

// talk runs a shell on a terminal.
func talk(t *testing.T, folder, command string, steps ...typed) {
	t.Helper()
	screen := filepath.Join(t.TempDir(), "screen")
	cmd := exec.Command(tool(t, "script", "bsdutils"), "-qefc", "exec "+command, screen)
	cmd.Dir = folder
	cmd.Env = append(environment(), "TERM=xterm", "HOME="+folder, "LC_ALL=C.UTF-8", "PROMPT_COMMAND=", "COLUMNS=100")
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = keys.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	seen, late := 0, time.Now().Add(patience)
	for _, s := range steps {
		if _, err := keys.Write([]byte(s.keys)); err != nil {
			t.Fatal(err)
		}
		for {
			b, _ := os.ReadFile(screen)
			text := escapes.ReplaceAllString(string(b), "")
			if n := strings.Index(text[seen:], s.shows); n >= 0 {
				seen += n + len(s.shows)
				break
			}
			if time.Now().After(late) {
				t.Fatalf("after %q there is no %q in %q", s.keys, s.shows, text[seen:])
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// someFiles makes a folder with a file and a folder of a name in two words.
func someFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "my file.gz"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "my folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// byTab are lines that are completed by Tab, and end as arguments of the program.
// Before the last key the screen must show the line completed: what is typed
// meanwhile might be thrown away.
var byTab = []typed{
	{"nvtop-lite rec\t", "record "}, {"--no-p\t", "--no-processes "}, {"\n", "got: record --no-processes\r\n"},
	{"nvtop-lite --color=tr\t", "truecolor "}, {"--sort hos\t", "host "}, {"\n", "got: --color=truecolor --sort host\r\n"},
	{"nvtop-lite summary my\\ fi\t", "le.gz "}, {"\n", "got: summary my file.gz\r\n"},
	{"nvtop-lite --root my\t", `my\ folder/`}, {"\n", "got: --root my folder"},
}

func TestBashCompletesByTab(t *testing.T) {
	bash, file := tool(t, "bash", "bash"), completions(t, "bash")
	talk(t, someFiles(t), bash+" --norc --noprofile -i", append([]typed{
		{"bind 'set bell-style none'; PS1='ready''> '; nvtop-lite() { echo got: \"$@\"; }; source " + file + "\n", "ready> "},
	}, byTab...)...)
}

// TestZshCompletesByTab: as a file in $fpath, and as what ~/.zshrc evaluates.
func TestZshCompletesByTab(t *testing.T) {
	zsh, file := tool(t, "zsh", "zsh"), completions(t, "zsh")
	for name, load := range map[string]string{
		"fpath":     "fpath=(" + filepath.Dir(file) + " $fpath); autoload -Uz compinit; compinit -u -D",
		"evaluated": "autoload -Uz compinit; compinit -u -D; source " + file,
	} {
		t.Run(name, func(t *testing.T) {
			talk(t, someFiles(t), zsh+" -f -i", append(append([]typed{
				{"PS1='ready''> '; unsetopt beep; nvtop-lite() { print -r -- got: \"$@\" }; " + load + "; print loa''ded\n", "loaded\r\n"}, {"", "ready> "},
			}, byTab...), []typed{
				{"nvtop-lite --co\t", "snapshots to print or record, 0 until stopped"},
			}...)...)
		})
	}
}
