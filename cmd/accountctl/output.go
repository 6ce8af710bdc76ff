package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/wire"
)

// digits is how many significant digits tables show of ε and δ.
const digits = 6

// Output formats. Table is for people and may change; the others are for
// programs.
const (
	formatTable = "table"
	formatJSON  = "json"  // one object
	formatJSONL = "jsonl" // an object a line
	formatCSV   = "csv"
)

// format is the value of --output: one of those that the command offers.
type format struct {
	value   string
	allowed []string
}

// outputFlag adds --output with the formats that make sense for c; table is the
// default.
func outputFlag(c *cobra.Command, others ...string) *format {
	f := &format{formatTable, append([]string{formatTable}, others...)}
	c.Flags().VarP(f, "output", "o", strings.Join(f.allowed, "|"))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.allowed, cobra.ShellCompDirectiveNoFileComp))
	return f
}

func (f *format) String() string { return f.value }
func (f *format) Type() string   { return "format" }
func (f *format) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("allowed: %s", strings.Join(f.allowed, ", "))
	}
	f.value = s
	return nil
}

// writeJSON writes m as the one object on standard output.
func (p *program) writeJSON(m proto.Message) error {
	b, err := wire.MarshalJSON(m)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(bytes.TrimRight(b, "\n"), '\n'))
	return err
}

// writeLine writes m as one line of JSON.
func (p *program) writeLine(m proto.Message) error {
	b, err := compactJSON(m)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(b, '\n'))
	return err
}

func compactJSON(m proto.Message) ([]byte, error) {
	b, err := wire.MarshalJSON(m)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, b)
	return line.Bytes(), err
}

// table aligns rows of cells on standard output.
type table struct {
	w    *tabwriter.Writer
	rows int
}

// tableBlock is how many rows are aligned together: a long table must neither
// wait for its end nor be kept in memory.
const tableBlock = 1000

func (p *program) table() *table {
	return &table{w: tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)}
}

// row adds a row. Errors come from flush: p.out keeps the first one.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = clean(fmt.Sprint(c))
	}
	_, _ = fmt.Fprintln(t.w, strings.TrimRight(strings.Join(texts, "\t"), "\t "))
	if t.rows++; t.rows%tableBlock == 0 {
		_ = t.w.Flush()
	}
}

func (t *table) flush() error { return t.w.Flush() }

// clean keeps text that others wrote from breaking the table or steering the
// terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// cell makes text that others wrote harmless in a csv file: a spreadsheet takes none of
// it for a formula, and no terminal is steered by it.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		s = "'" + s
	}
	var b strings.Builder
	for _, r := range s {
		if wire.Steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// warn writes warnings on standard error, a line each: they refuse nothing.
func (p *program) warn(warnings []string) {
	for _, w := range warnings {
		_, _ = fmt.Fprintln(p.err, "accountctl: warning: "+clean(w))
	}
}
