package ansi

import "strings"

// Detect decides how many colours to use. flag is the value of --color (auto,
// always, never, 16, 256, truecolor; "" is auto; anything else counts as auto),
// getenv reads the environment, isWindowsVT says that a Windows console has
// accepted escape sequences. Whether the output is a terminal is for the caller
// to ask.
func Detect(flag string, getenv func(string) string, isWindowsVT bool) Level {
	switch flag {
	case "never":
		return LevelNone
	case "16":
		return Level16
	case "256":
		return Level256
	case "truecolor":
		return LevelRGB
	case "always":
		return max(detect(getenv, isWindowsVT), Level16)
	}
	if getenv("NO_COLOR") != "" {
		return LevelNone
	}
	return detect(getenv, isWindowsVT)
}

func detect(getenv func(string) string, isWindowsVT bool) Level {
	term := strings.ToLower(getenv("TERM"))
	if term == "dumb" {
		return LevelNone
	}
	if isWindowsVT {
		return LevelRGB
	}
	colorterm := strings.ToLower(getenv("COLORTERM"))
	// Windows Terminal sets nothing but WT_SESSION and hands it on into WSL.
	rgb := colorterm == "truecolor" || colorterm == "24bit" || getenv("WT_SESSION") != ""
	switch {
	case term == "":
		return LevelNone
	case term == "linux":
		return Level16
	case strings.HasPrefix(term, "screen"):
		return Level256 // it has no 24-bit colours, whatever COLORTERM it inherited
	case rgb:
		return LevelRGB
	case strings.HasSuffix(term, "-direct"):
		return LevelRGB
	case strings.HasSuffix(term, "-256color") || strings.HasPrefix(term, "tmux"):
		if rgbTerm(strings.TrimSuffix(term, "-256color")) {
			return LevelRGB
		}
		return Level256
	case rgbTerm(term):
		return LevelRGB
	case strings.HasPrefix(term, "vt") && len(term) > 2 && term[2] >= '0' && term[2] <= '9' ||
		strings.HasSuffix(term, "-mono") || strings.HasSuffix(term, "-m"):
		return LevelNone
	}
	return Level16
}

// rgbTerm knows the terminals that have 24-bit colours and a name of their own,
// which outlives ssh where COLORTERM does not.
func rgbTerm(term string) bool {
	switch term {
	case "xterm-kitty", "xterm-ghostty", "ghostty", "alacritty", "foot", "foot-extra", "wezterm", "contour", "iterm2":
		return true
	}
	return false
}

// UTF8 reports whether the terminal takes UTF-8: not where the locale names
// another codeset (LC_ALL, LC_CTYPE, LANG; the first that is set decides), and
// not on the Linux console, whose fonts lack the characters. No locale, C and
// POSIX count as UTF-8.
func UTF8(getenv func(string) string) bool {
	if getenv("TERM") == "linux" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		locale := getenv(name)
		if locale == "" {
			continue
		}
		locale, _, _ = strings.Cut(locale, "@")
		_, codeset, named := strings.Cut(locale, ".")
		if !named {
			return true
		}
		codeset = strings.ToLower(codeset)
		return codeset == "" || codeset == "utf-8" || codeset == "utf8"
	}
	return true
}

// Live reports whether a terminal of this kind can show a live screen: not where
// TERM is dumb, or empty on a system other than Windows.
func Live(getenv func(string) string, windows bool) bool {
	term := getenv("TERM")
	return term != "dumb" && (term != "" || windows)
}
