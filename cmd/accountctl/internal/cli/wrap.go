// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"unicode/utf8"
)

// Wrap fills the paragraphs of a text to lines of at most 80 columns. Lines that begin with a
// space are left as they are.
func Wrap(text string) string {
	var b strings.Builder
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			b.WriteString(fill("", "", "", strings.Fields(strings.Join(paragraph, " "))))
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		b.WriteString(line + "\n")
	}
	end()
	return strings.TrimRight(b.String(), "\n")
}

// WrapCommands breaks command lines that are too long, so that a shell still takes them.
func WrapCommands(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) <= columns {
			b.WriteString(line + "\n")
			continue
		}
		b.WriteString(fill("  ", "      ", ` \`, units(line)))
	}
	return b.String()
}

// WrapUse breaks the line that says how a command is called.
func WrapUse(line string) string { return fill("  ", "      ", "", strings.Fields(line)) }

// units are the parts of a command line that are not torn: a flag stays beside its value, and
// what is quoted together.
func units(line string) []string {
	var out []string
	quoted := false
	for _, word := range strings.Fields(line) {
		last := len(out) - 1
		joins := last >= 0 &&
			(quoted || strings.HasPrefix(out[last], "-") && !strings.Contains(out[last], " ") &&
				!strings.HasPrefix(word, "-"))
		if joins {
			out[last] += " " + word
		} else {
			out = append(out, word)
		}
		if strings.Count(word, `"`)%2 == 1 {
			quoted = !quoted
		}
	}
	return out
}

// fill makes lines of words, of at most 80 columns with their ending, which the last lacks.
func fill(first, indent, ending string, words []string) string {
	var b strings.Builder
	line := first
	for i, word := range words {
		fits := utf8.RuneCountInString(line+" "+word+ending) <= columns
		switch {
		case strings.TrimSpace(line) == "":
			line += word
		case fits:
			line += " " + word
		default:
			b.WriteString(line + ending + "\n")
			line = indent + words[i]
		}
	}
	return b.String() + line + "\n"
}
