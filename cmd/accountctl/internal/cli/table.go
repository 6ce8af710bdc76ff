package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table aligns rows of cells on standard output.
type Table struct {
	w    *tabwriter.Writer
	rows int
}

// tableBlock is how many rows are aligned together: a long table must neither
// wait for its end nor be kept in memory.
const tableBlock = 1000

// Table starts a table.
func (p *Program) Table() *Table {
	return &Table{w: tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)}
}

// Row adds a row. Errors come from Flush: p.Out keeps the first one.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = Clean(fmt.Sprint(c))
	}
	_, _ = fmt.Fprintln(t.w, strings.TrimRight(strings.Join(texts, "\t"), "\t "))
	if t.rows++; t.rows%tableBlock == 0 {
		_ = t.w.Flush()
	}
}

// Flush writes what was not written yet.
func (t *Table) Flush() error { return t.w.Flush() }
