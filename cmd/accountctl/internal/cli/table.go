// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table aligns rows of cells on standard output. On a terminal, and where $COLUMNS is set, the
// last cell of a row that is too wide goes on in the lines below it, between words. Elsewhere
// a row is one line, as programs expect.
type Table struct {
	out     io.Writer
	width   int // 0: rows are never broken
	aligned bytes.Buffer
	w       *tabwriter.Writer
	last    []string // the last cell of each row since the last flush
}

// tableBlock is how many rows are aligned together: a long table must neither
// wait for its end nor be kept in memory.
const tableBlock = 1000

// Table starts a table.
func (p *Program) Table() *Table {
	t := &Table{out: p.Out, width: p.width}
	t.w = tabwriter.NewWriter(&t.aligned, 0, 8, 2, ' ', 0)
	return t
}

// Widen makes rows and names as wide as they are, as --output wide asks.
func (p *Program) Widen() { p.width = 0 }

// Narrow reports whether text has to fit a terminal, or $COLUMNS.
func (p *Program) Narrow() bool { return p.width > 0 }

// Short cuts an identifier to n characters, of which the last is then "…", where text has to fit.
func (p *Program) Short(id string, n int) string {
	if r := []rune(id); p.Narrow() && len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return id
}

// ShortName is the principal, shortened like Short but before the name: "…#ann" of "oidc:https://issuer.example#ann".
func (p *Program) ShortName(principal string, n int) string {
	r := []rune(principal)
	at := max(strings.IndexByte(principal, ':'), strings.IndexByte(principal, '#'))
	if !p.Narrow() || len(r) <= n || at < 0 {
		return principal
	}
	name := principal[at:]
	return string(r[:max(3, n-1-utf8.RuneCountInString(name))]) + "…" + name
}

// Row adds a row. Errors come from Flush: p.Out keeps the first one.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = Clean(fmt.Sprint(c))
	}
	line := strings.Join(texts, "\t")
	trimmed := strings.TrimRight(line, "\t ")
	last := trimmed[strings.LastIndexByte(trimmed, '\t')+1:]
	if t.width > 0 && utf8.RuneCountInString(last) > minLast {
		line = trimmed // a text that may be wrapped makes no column wide
	}
	_, _ = fmt.Fprintln(t.w, line) // with empty cells at its end: a column ends at a row that lacks it
	t.last = append(t.last, last)
	if len(t.last) == tableBlock {
		_ = t.Flush()
	}
}

// Properties writes rows of a name and a value. Those without a value are left out.
func (p *Program) Properties(rows [][2]string) {
	t := p.Table()
	for _, r := range rows {
		if r[1] != "" {
			t.Row(r[0], r[1])
		}
	}
	_ = t.Flush() // the writer keeps the error
}

// Flush writes what was not written yet.
func (t *Table) Flush() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, last := range t.last {
		line, _ := t.aligned.ReadString('\n')
		line = strings.TrimRight(line, " \n") + "\n"
		start := utf8.RuneCountInString(line) - 1 - utf8.RuneCountInString(last)
		if words := strings.Fields(last); t.width > 0 && len(words) > 1 && start+minLast <= t.width {
			line = fillTo(t.width, strings.TrimSuffix(line, last+"\n"), strings.Repeat(" ", start), words)
		}
		b.WriteString(line)
	}
	t.last = t.last[:0]
	t.aligned.Reset()
	_, err := io.WriteString(t.out, b.String())
	return err
}

// minLast is the least room that the last cell is wrapped in.
const minLast = 20

// fillTo puts words after first, in lines of at most width columns that begin with indent.
func fillTo(width int, first, indent string, words []string) string {
	var b strings.Builder
	line := first + words[0]
	for _, word := range words[1:] {
		if utf8.RuneCountInString(line+" "+word) <= width {
			line += " " + word
			continue
		}
		b.WriteString(line + "\n")
		line = indent + word
	}
	return b.String() + line + "\n"
}
