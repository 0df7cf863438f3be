package process

import (
	"slices"
	"strings"
)

// nameOf returns what a person would call the program with these arguments: the
// script that an interpreter or a launcher runs, else the base name of the
// program; "" when there are no arguments. Comm is the kernel's name for it, ""
// when unknown.
func nameOf(args []string, comm string) string {
	if len(args) == 1 && strings.ContainsAny(args[0], " \t") {
		// One part with blanks is a title that the program gave itself, unless
		// the program's path has the blanks.
		if b := baseName(args[0]); comm == "" || !strings.HasPrefix(b, comm) || b == args[0] {
			args = strings.Fields(args[0])
		}
	}
	name := ""
	for range 8 { // launchers may start launchers, but not for ever
		if len(args) == 0 {
			return name
		}
		next, rest := step(args)
		if next != "" {
			name = next
		}
		if rest == nil {
			return name
		}
		args = rest
	}
	return name
}

// step reads one command: its name, and the arguments of the command that it
// runs in turn, nil when it runs none. The name counts until that one has its
// own.
func step(args []string) (name string, rest []string) {
	name = baseName(args[0])
	args = args[1:]
	switch bare := strings.TrimSuffix(strings.ToLower(name), ".exe"); {
	case isPython(bare):
		return python(name, args)
	case isShell(bare):
		return shell(name, args)
	case bare == "torchrun", bare == "deepspeed", bare == "accelerate" && len(args) > 0 && args[0] == "launch":
		return script(name, args)
	default:
		if l, ok := launchers[bare]; ok {
			return name, l.command(args)
		}
	}
	return name, nil
}

// baseName returns the last part of a path in either style, without the dash of
// a login shell and the colon of a title such as "nginx: worker".
func baseName(s string) string {
	if b := strings.TrimRight(s, "/"); b != "" {
		s = b[strings.LastIndexByte(b, '/')+1:]
	}
	if len(s) > 3 && s[1] == ':' || strings.HasSuffix(strings.ToLower(s), ".exe") {
		if b := s[strings.LastIndexByte(s, '\\')+1:]; b != "" {
			s = b
		}
	}
	if b := strings.TrimSuffix(strings.TrimPrefix(s, "-"), ":"); b != "" {
		return b
	}
	return s
}

// isPython knows python, python3, python3.13t, pythonw and pypy3.
func isPython(name string) bool {
	rest, ok := strings.CutPrefix(name, "python")
	if !ok {
		rest, ok = strings.CutPrefix(name, "pypy")
	}
	switch strings.TrimLeft(rest, "0123456789.") {
	case "", "t", "d", "td", "m", "dm", "w", "-dbg":
		return ok
	}
	return false
}

// python walks the arguments of the interpreter: to the module of -m, to the
// code of -c, else to the script. Short options may stand together and have
// their value glued to them (-Wignore, -Bum pkg).
func python(name string, args []string) (string, []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			if i+1 < len(args) {
				return name, args[i+1:]
			}
			return name, nil
		case arg == "-", arg == "":
			return name, nil // the script comes from standard input
		case arg == "--check-hash-based-pycs":
			i++
			continue
		case strings.HasPrefix(arg, "--"):
			continue
		case arg[0] != '-':
			if isDescriptor(arg) {
				return name, nil
			}
			return name, args[i:]
		}
		letter := strings.IndexAny(arg[1:], "cmWX")
		if letter < 0 {
			continue
		}
		letter++
		value, after := arg[letter+1:], args[i+1:]
		if value == "" && len(after) > 0 {
			value, after = after[0], after[1:]
			i++
		}
		switch arg[letter] {
		case 'c':
			return name + " -c", nil
		case 'm':
			return module(name, value, after)
		}
	}
	return name, nil
}

// module names what python -m runs. Some modules are launchers themselves.
func module(name, value string, after []string) (string, []string) {
	switch value {
	case "":
		return name, nil
	case "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "deepspeed.launcher.runner", "deepspeed.launcher.launch":
		return script(value, after)
	}
	return value, nil
}

// script finds what a launcher of Python programs starts: the word after -m or
// --module, or the first that is a Python file. Their other options are too
// many and too new to know them all.
func script(name string, args []string) (string, []string) {
	for i, arg := range args {
		switch {
		case arg == "-m" || arg == "--module":
			for _, next := range args[i+1:] {
				if !strings.HasPrefix(next, "-") {
					return next, nil
				}
			}
			return name, nil
		case !strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, ".py"):
			return baseName(arg), nil
		}
	}
	return name, nil
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish":
		return true
	}
	return false
}

// shell finds the script, or the first real command of the code after -c.
func shell(name string, args []string) (string, []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-o" || arg == "+o" || arg == "-O" || arg == "--rcfile" || arg == "--init-file":
			i++
		case strings.HasPrefix(arg, "--") && arg != "--", strings.HasPrefix(arg, "+"):
		case len(arg) > 1 && arg[0] == '-' && arg != "--":
			if !strings.Contains(arg, "c") {
				continue
			}
			for _, code := range args[i+1:] {
				if !strings.HasPrefix(code, "-") {
					if words := firstCommand(code); words != nil {
						return name + " -c", words
					}
					break
				}
			}
			return name + " -c", nil
		case arg == "--":
		case arg == "-":
			return name, nil
		case isDescriptor(arg):
			return name, nil
		default:
			return baseName(arg), nil
		}
	}
	return name, nil
}

// isDescriptor reports whether a script comes from an open file: its name there
// is a number that says nothing.
func isDescriptor(path string) bool {
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/") || path == "/dev/stdin"
}

// firstCommand returns the words of the first command in shell code that runs a
// program, nil when there is none.
func firstCommand(code string) []string {
	for _, line := range strings.FieldsFunc(limit(code, maxCommand), func(r rune) bool { return strings.ContainsRune("\n;|&()", r) }) {
		words := strings.Fields(line)
		for i := range words {
			words[i] = strings.Trim(words[i], `"'`)
		}
		for len(words) > 0 && (words[0] == "" || words[0] == "exec" || words[0] == "{" || isAssignment(words[0])) {
			words = words[1:]
		}
		if len(words) == 0 || slices.Contains(builtins, words[0]) || words[0][0] == '#' {
			continue
		}
		return words
	}
	return nil
}

// builtins are words that begin a line without running a program.
var builtins = []string{
	".", ":", "[", "[[", "alias", "cd", "case", "do", "done", "echo", "else", "eval", "export", "false", "fi", "for", "if", "local",
	"mkdir", "printf", "pushd", "read", "set", "shopt", "sleep", "source", "test", "then", "trap", "true", "ulimit", "umask", "unset", "while", "}",
}

func isAssignment(word string) bool {
	i := strings.IndexByte(word, '=')
	return i > 0 && !strings.ContainsAny(word[:i], "/-.")
}

// launcher is a program that runs the command in its arguments.
type launcher struct {
	sub      string   // the word that must come first, such as run
	values   []string // options that take the next word; others take none, or have it glued to them
	operands int      // words before the command
	assign   bool     // NAME=VALUE words come before the command
	module   bool     // -m takes a module's name
}

var launchers = map[string]launcher{
	"env":       {values: []string{"-u", "--unset", "-C", "--chdir"}, assign: true},
	"nice":      {values: []string{"-n", "--adjustment"}},
	"nohup":     {},
	"numactl":   {values: []string{"-N", "-m", "-C", "-i", "-p", "-P", "-w", "--cpunodebind", "--membind", "--physcpubind", "--interleave", "--preferred"}},
	"setsid":    {},
	"stdbuf":    {values: []string{"-i", "-o", "-e", "--input", "--output", "--error"}},
	"sudo":      {values: []string{"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-D", "-R", "-T", "-U", "--user", "--group"}, assign: true},
	"taskset":   {operands: 1},
	"time":      {values: []string{"-f", "-o", "--format", "--output"}},
	"timeout":   {values: []string{"-s", "-k", "--signal", "--kill-after"}, operands: 1},
	"tini":      {values: []string{"-p", "-e"}},
	"dumb-init": {values: []string{"-r"}},
	"uv": {sub: "run", module: true, values: []string{
		"--with", "--with-editable", "--with-requirements", "--extra", "--no-extra", "--group", "--no-group", "--only-group", "--package",
		"--env-file", "-p", "--python", "-i", "--index", "--index-url", "--default-index", "--extra-index-url", "-f", "--find-links",
		"--directory", "--project", "--config-file", "--cache-dir", "-P", "--upgrade-package", "--resolution", "--prerelease", "--link-mode",
		"--index-strategy", "--keyring-provider", "--color", "-w", "--exclude-newer", "-C", "--config-setting", "--no-build-package",
		"--no-binary-package", "--reinstall-package", "--refresh-package", "--python-platform",
	}},
	"poetry": {sub: "run"},
	"pipenv": {sub: "run"},
	"conda":  {sub: "run", values: []string{"-n", "--name", "-p", "--prefix", "--cwd"}},
}

// command returns the arguments of the command that the launcher runs, nil when
// it runs none.
func (l launcher) command(args []string) []string {
	if l.sub != "" {
		if len(args) == 0 || args[0] != l.sub {
			return nil
		}
		args = args[1:]
	}
	operands := l.operands
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			if operands < len(args)-i-1 {
				return args[i+1+operands:]
			}
			return nil
		case l.module && (arg == "-m" || arg == "--module"):
			if i+1 < len(args) {
				return args[i+1 : i+2]
			}
			return nil
		case slices.Contains(l.values, arg):
			i++
		case strings.HasPrefix(arg, "-"):
		case l.assign && isAssignment(arg):
		case operands > 0:
			operands--
		default:
			return args[i:]
		}
	}
	return nil
}

// quoted joins arguments as a shell would take them: one with blanks or
// without anything stands in quotes, so that it stays one.
func quoted(args []string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case arg != "" && !strings.ContainsAny(arg, " \t\n"):
			b.WriteString(arg)
		case !strings.Contains(arg, "'"):
			b.WriteString("'" + arg + "'")
		case !strings.Contains(arg, `"`):
			b.WriteString(`"` + arg + `"`)
		default:
			b.WriteString("'" + strings.ReplaceAll(arg, "'", `'\''`) + "'")
		}
	}
	return b.String()
}
