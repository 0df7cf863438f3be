package monitor

import "strings"

// secretWords are what the name of a secret has in it.
var secretWords = []string{"token", "key", "secret", "password", "credential"}

const secretMask = "***"

// MaskSecrets replaces by *** the values of flags and NAME=value words in a
// command line whose name has token, key, secret, password or credential in
// it, in whatever case. It masks too much rather than too little: a value in
// quotes goes as a whole.
func MaskSecrets(command string) string {
	if !hasSecretWord(command) {
		return command // as most are
	}
	var b strings.Builder
	changed := false
	flag := false // the word before is the flag of a secret without a value
	for rest := command; rest != ""; {
		blanks := len(rest) - len(strings.TrimLeft(rest, " \t\n"))
		b.WriteString(rest[:blanks])
		rest = rest[blanks:]
		n := wordEnd(rest)
		word := rest[:n]
		rest = rest[n:]
		switch eq := secretValue(word); {
		case word == "":
		case eq >= 0:
			b.WriteString(word[:eq])
			if eq < len(word) {
				b.WriteString(secretMask)
				changed = true
			}
			flag = false
		case flag && word[0] != '-':
			b.WriteString(secretMask)
			changed, flag = true, false
		default:
			b.WriteString(word)
			flag = word[0] == '-' && hasSecretWord(word)
		}
	}
	if !changed {
		return command
	}
	return b.String()
}

// wordEnd returns where the first word of s ends. Blanks between quotes do not
// end it.
func wordEnd(s string) int {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' || c == '\t' || c == '\n':
			return i
		}
	}
	return len(s)
}

// secretValue returns where the value begins in a word name=value whose name
// is that of a secret, -1 in any other.
func secretValue(word string) int {
	name := 0
	for i := 0; i < len(word); i++ {
		switch word[i] {
		case '=':
			if hasSecretWord(word[name:i]) {
				return i + 1
			}
			name = i + 1
		case '&', '?', ';', ',', ' ', '"', '\'':
			name = i + 1
		}
	}
	return -1
}

func hasSecretWord(name string) bool {
	for _, w := range secretWords {
		if containsFold(name, w) {
			return true
		}
	}
	return false
}

// containsFold reports whether s contains lower, which is lower case ASCII, in
// any case.
func containsFold(s, lower string) bool {
	for i := 0; i+len(lower) <= len(s); i++ {
		j := 0
		for j < len(lower) && s[i+j]|0x20 == lower[j] {
			j++
		}
		if j == len(lower) {
			return true
		}
	}
	return false
}
