package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// link is one of Markdown: its words, and where it leads.
var link = regexp.MustCompile(`\[([^][]*)\]\(([^()\s]+)\)`)

// fence begins and ends what is no text in Markdown.
const fence = "```"

// relative is the file that a link in another one leads to; "" for an address, and
// for a place in the same file.
func relative(from, target string) string {
	file, _, _ := strings.Cut(target, "#")
	if file == "" || strings.Contains(file, ":") {
		return ""
	}
	return path.Join(path.Dir(from), file)
}

// linked are members that stand somewhere by themselves: of a link that leads to what
// is not among them, the words stay.
func linked(members []member) []member {
	there := make(map[string]bool)
	for _, m := range members {
		there[m.name] = true
	}
	members = slices.Clone(members)
	for i, m := range members {
		if !strings.HasSuffix(m.name, ".md") {
			continue
		}
		parts := strings.Split(string(m.text), fence)
		for p := 0; p < len(parts); p += 2 { // the others are between two fences
			parts[p] = link.ReplaceAllStringFunc(parts[p], func(all string) string {
				words := link.FindStringSubmatch(all)
				if file := relative(m.name, words[2]); file == "" || there[file] {
					return all
				}
				return words[1]
			})
		}
		members[i].text = []byte(strings.Join(parts, fence))
	}
	return members
}
