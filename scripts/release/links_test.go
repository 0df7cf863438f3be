package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksToWhatIsNotThereAreWords: of the others nothing changes.
func TestLinksToWhatIsNotThereAreWords(t *testing.T) {
	readme := "[a](docs/a.md#there), [a\nfolder](internal/x/README.md), [b](../b), [c](https://example.org/c.md), [d](#d)\n" +
		"```go\nlist[i](x)\n```\n[e](e.json) and [x](x.go)\n"
	want := "[a](docs/a.md#there), a\nfolder, b, [c](https://example.org/c.md), [d](#d)\n" +
		"```go\nlist[i](x)\n```\n[e](e.json) and x\n"
	got := linked([]member{
		{"README.md", 0o644, []byte(readme)},
		{"docs/a.md", 0o644, []byte("[up](../README.md), [beside](b.md)")},
		{"e.json", 0o644, []byte("[x](y)")},
	})
	for i, text := range []string{want, "[up](../README.md), beside", "[x](y)"} {
		if string(got[i].text) != text {
			t.Errorf("%s is\n%s\nwant\n%s", got[i].name, got[i].text, text)
		}
	}
}

// TestLinksOfTheTree: each leads to what is there.
func TestLinksOfTheTree(t *testing.T) {
	root := filepath.Join("..", "..")
	var texts []string
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, found...)
	}
	files := make(map[string][]byte)
	for _, file := range texts {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.ToSlash(name)] = content(t, file)
	}
	follow(t, "the tree", files, func(file string) bool {
		found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(file)))
		return len(found) == 1
	})
}

// follow follows each link of texts: to a file that is there, and to a heading where
// it names one.
func follow(t *testing.T, where string, texts map[string][]byte, there func(file string) bool) {
	t.Helper()
	followed := 0
	for from, text := range texts {
		if !strings.HasSuffix(from, ".md") {
			continue
		}
		for i, part := range strings.Split(string(text), fence) {
			if i%2 == 1 {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(part, -1) {
				target := m[2]
				file, anchor, _ := strings.Cut(target, "#")
				to := from
				if file != "" {
					to = relative(from, target)
				}
				if to == "" { // an address
					continue
				}
				followed++
				if !there(to) {
					t.Errorf("%s: %s links to %s, which is not there", where, from, target)
				} else if anchor != "" && !hasHeading(string(texts[to]), anchor) {
					t.Errorf("%s: %s links to %s, where there is no such heading", where, from, target)
				}
			}
		}
	}
	if followed < 20 {
		t.Errorf("%s has %d links alone", where, followed)
	}
}

// hasHeading finds a heading by the anchor that GitHub and others give it.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(text) {
		words, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127:
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(words)))
		if slug == anchor {
			return true
		}
	}
	return false
}
