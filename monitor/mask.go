package monitor

import "strings"

// secretWords are what the name of a secret has in it.
var secretWords = []string{"token", "key", "secret", "password", "credential", "passwd", "passphrase", "pwd", "jwt", "cookie"}

const secretMask = "***"

// MaskSecrets replaces by *** the secrets in a command line: the values of flags
// and NAME=value words, and of names in JSON, YAML and headers of HTTP, whose name
// has one of secretWords in it, in whatever case; what stands before the @ of a URL, but for the name of the user;
// what an Authorization header says; and private keys. It masks too much rather
// than too little: --max-tokens 4096 becomes --max-tokens ***, and a value in quotes
// goes as a whole. A secret that nothing names is not recognised.
func MaskSecrets(command string) string {
	if !hasSecretWord(command) && !strings.Contains(command, "://") && !containsFold(command, authorization) {
		return command // as most are
	}
	m := masker{rest: command}
	for m.rest != "" {
		m.copy(len(m.rest) - len(strings.TrimLeft(m.rest, blanks)))
		m.word()
	}
	if !m.masked {
		return command
	}
	return m.out.String()
}

const (
	blanks        = " \t\n"
	authorization = "authorization"
	pemBegin      = "-----BEGIN "
	pemEnd        = "-----END "
)

// masker goes along a command line word by word.
type masker struct {
	out    strings.Builder
	rest   string // what is still to be looked at
	due    bool   // the word before is a name: a value comes
	masked bool
}

// Inlined, it would make the program 4 kB larger.
//
//go:noinline
func (m *masker) copy(n int) {
	m.out.WriteString(m.rest[:n])
	m.rest = m.rest[n:]
}

// mask writes *** for the next n bytes.
//
// Inlined, it would make the program 3 kB larger.
//
//go:noinline
func (m *masker) mask(n int) {
	if n > 0 {
		m.out.WriteString(secretMask)
		m.rest = m.rest[n:]
		m.masked = true
	}
}

// word looks at the next word, which ends at a blank unless it is a value in
// quotes.
func (m *masker) word() {
	word := m.rest[:untilBlank(m.rest)]
	if m.due && word != "" && !isFlag(word) {
		if isScheme(word) {
			m.copy(len(word)) // and what follows is the secret
			return
		}
		m.due = false
		m.value(0)
		return
	}
	m.due = false
	name := 0 // where the name now looked at begins
	for i := 0; i < len(word); i++ {
		switch c := word[i]; c {
		case '=', ':':
			is, quoted := hasSecretWord(word[name:i]), i > 0 && isQuote(word[i-1])
			if c == ':' {
				is = is || containsFold(word[name:i], authorization)
				last := i == len(word)-1
				switch {
				case is && last:
					m.copy(len(word))
					m.due = true
					return
				case strings.HasPrefix(word[i:], "://"):
					if n := userinfo(word[i+3:]); n >= 0 {
						m.copy(i + 3)
						secret := strings.IndexByte(m.rest[:n], ':') + 1
						m.copy(secret)
						m.mask(n - secret)
						return
					}
					is = false
				case !quoted && (name > 0 || word[0] != '-'):
					is = false // such as a path: /etc/keys:/keys
				}
				if !is {
					continue
				}
			}
			if is && i+1 < len(word) {
				var open byte
				if c == '=' && name > 0 && isQuote(word[name-1]) {
					open = word[name-1]
				}
				m.copy(i + 1)
				if c == ':' && quoted {
					m.mask(jsonEnd(m.rest))
				} else {
					m.value(open)
				}
				return
			}
			if is {
				m.copy(len(word)) // it has no value
				return
			}
			name = i + 1
		case '&', '?', ';', ',', '"', '\'', '{', '(', '[':
			// The name in "name": value is looked at when its colon comes.
			if !(isQuote(c) && i+1 < len(word) && word[i+1] == ':') {
				name = i + 1
			}
		case '-':
			if strings.HasPrefix(m.rest[i:], pemBegin) {
				m.copy(i)
				m.mask(pemLength(m.rest))
				return
			}
		}
	}
	m.copy(len(word))
	m.due = word != "" && word[0] == '-' && hasSecretWord(word)
}

// value masks a value. It ends at a blank outside quotes, or, where open is not 0,
// with that quote, which was opened before its name.
func (m *masker) value(open byte) {
	if strings.HasPrefix(strings.TrimLeft(m.rest, `"'`), pemBegin) {
		m.mask(pemLength(m.rest))
		return
	}
	s := m.rest
	if open != 0 {
		n := strings.IndexByte(s, open)
		if n < 0 {
			m.mask(len(s))
			return
		}
		m.mask(n + 1 + untilBlank(s[n+1:]))
		return
	}
	for i := 0; i < len(s); i++ {
		switch {
		case isQuote(s[i]):
			if n := strings.IndexByte(s[i+1:], s[i]); n >= 0 {
				i += n + 1
			} else if i == 0 {
				m.mask(len(s)) // it never ends
				return
			}
		case strings.IndexByte(blanks, s[i]) >= 0:
			m.mask(i)
			return
		}
	}
	m.mask(len(s))
}

// jsonEnd returns where a value of JSON ends.
func jsonEnd(s string) int {
	i := strings.IndexAny(s, `"'`)
	switch {
	case s[0] == '[':
		return through(s, ']')
	case s[0] == '{':
		return through(s, '}')
	case i == 0 || i == 1 && s[0] == '\\':
		for j := i + 1; j < len(s); j++ {
			if s[j] == s[i] && (s[j-1] != '\\' || i == 1) {
				return j + 1
			}
		}
		return len(s)
	}
	if n := strings.IndexAny(s, ",}]"+blanks); n >= 0 {
		return n
	}
	return len(s)
}

// through returns where s ends with c, its whole length where c is not there.
func through(s string, c byte) int {
	if n := strings.IndexByte(s, c); n >= 0 {
		return n + 1
	}
	return len(s)
}

// pemLength is how long a key is, which may be the rest of the line.
func pemLength(s string) int {
	n := strings.Index(s, pemEnd)
	if n < 0 {
		return len(s)
	}
	n += len(pemEnd)
	if end := strings.Index(s[n:], "-----"); end >= 0 {
		n += end + len("-----")
	}
	return n + untilBlank(s[n:])
}

// userinfo returns how much of a URL behind its scheme says who asks, -1 where
// nothing does.
func userinfo(s string) int {
	if n := strings.IndexAny(s, `/?#"'`); n >= 0 {
		s = s[:n]
	}
	return strings.LastIndexByte(s, '@')
}

func untilBlank(s string) int {
	if n := strings.IndexAny(s, blanks); n >= 0 {
		return n
	}
	return len(s)
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// isFlag tells a flag from a value that begins with a dash, as a token may.
func isFlag(word string) bool {
	if word[0] != '-' || strings.HasPrefix(word, pemBegin[:len(pemBegin)-1]) {
		return false
	}
	return strings.HasPrefix(word, "--") || len(word) < 8 || !strings.ContainsAny(word, "0123456789")
}

// isScheme knows the words that stand before the secret of an Authorization
// header.
func isScheme(word string) bool {
	for _, s := range [...]string{"bearer", "basic", "digest", "token"} {
		if len(word) == len(s) && containsFold(word, s) {
			return true
		}
	}
	return false
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
