// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

// List is how rows are shown, in every format.
type List[R any] struct {
	Columns []Column
	Row     func(R) []any // a cell for each column
	Empty   func() string // what a reader of a table is told, on standard error, if there is no row; may be nil

	// Page is an empty page of the API, which is written with all rows as JSON. Nil if there is no JSON.
	Page proto.Message

	// CSV makes the cells of a line of CSV, and CSVHead names them. Nil if there is no CSV.
	CSV     func(R) ([]string, error)
	CSVHead []string
}

// Column is a column of a table.
type Column struct {
	name         string
	wide, narrow bool // it is only where a table need not fit a terminal, or only where it has to
	most         int  // how many characters a cell has at most where the table has to fit; 0 if it is never cut
	principals   bool // the cells are principals, which are cut before the name
}

// Columns are columns by their names. Behind a name, after commas, may stand "wide" or "narrow" for a column that is
// only in tables that need not fit a terminal, or only in those that have to; a number of characters to which cells are
// cut where the table has to fit; and "principals" if the cells are such, of which the name is not cut.
func Columns(specs ...string) (list []Column) {
	for _, spec := range specs {
		words := strings.Split(spec, ", ")
		c := Column{name: words[0]}
		for _, word := range words[1:] {
			switch word {
			case "wide":
				c.wide = true
			case "narrow":
				c.narrow = true
			case "principals":
				c.principals = true
			default:
				c.most, _ = strconv.Atoi(word)
			}
		}
		list = append(list, c)
	}
	return list
}

// Rows are the rows of a list that is there already.
func Rows[R any](list []R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Then are the rows, of which each is seen as it comes, if seen is not nil. After the last one, before a table is
// written, it calls last.
func Then[R any](rows iter.Seq2[R, error], seen func(R), last func()) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for r, err := range rows {
			if seen != nil && err == nil {
				seen(r)
			}
			if !yield(r, err) {
				return
			}
		}
		last()
	}
}

// Formats are those that Write knows, beside a table, for rows that come in pages.
func (l List[R]) Formats() []string {
	formats := []string{FormatWide, FormatJSON, FormatJSONL}
	if l.CSV != nil {
		formats = append(formats, FormatCSV)
	}
	return formats
}

// Write writes the rows in a format.
func (l List[R]) Write(p *Program, format string, rows iter.Seq2[R, error]) error {
	switch format {
	case FormatJSON:
		return l.writeJSON(p, rows)
	case FormatJSONL:
		return each(rows, func(r R) error { return p.WriteLine(any(r).(proto.Message)) })
	case FormatCSV:
		return l.writeCSV(p, rows)
	case FormatWide:
		p.Widen()
	}
	return l.writeTable(p, rows)
}

func (l List[R]) writeJSON(p *Program, rows iter.Seq2[R, error]) error {
	page := l.Page.ProtoReflect()
	all := page.Mutable(api.Rows(page.Descriptor())).List()
	err := each(rows, func(r R) error {
		all.Append(protoreflect.ValueOfMessage(any(r).(proto.Message).ProtoReflect()))
		return nil
	})
	if err != nil {
		return err
	}
	return p.WriteJSON(l.Page)
}

func (l List[R]) writeCSV(p *Program, rows iter.Seq2[R, error]) error {
	w := sheet.NewCSV(p.Out, l.CSVHead)
	err := each(rows, func(r R) error {
		cells, err := l.CSV(r)
		if err == nil {
			err = w.Row(cells)
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

func (l List[R]) writeTable(p *Program, rows iter.Seq2[R, error]) error {
	t := p.Table()
	var head []any
	for _, c := range l.Columns {
		head = append(head, c.name)
	}
	t.Row(shown(p, l.Columns, head)...)
	none := true
	err := each(rows, func(r R) error {
		none = false
		t.Row(shown(p, l.Columns, l.Row(r))...)
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if none && l.Empty != nil {
		p.Note(l.Empty())
	}
	return nil
}

// Section writes a table of rows below an empty line, and nothing if there are none.
func Section[R any](p *Program, columns []Column, rows []R, row func(R) []any) {
	if len(rows) > 0 {
		_, _ = fmt.Fprintln(p.Out)
		_ = List[R]{Columns: columns, Row: row}.writeTable(p, Rows(rows)) // the writer keeps the error
	}
}

// shown are the cells that stand in a table, cut where it has to fit.
func shown(p *Program, columns []Column, cells []any) (out []any) {
	for i, c := range columns {
		if c.wide && p.Narrow() || c.narrow && !p.Narrow() {
			continue
		}
		cell := cells[i]
		if text, ok := cell.(string); ok && c.principals {
			cell = p.ShortName(text, c.most)
		} else if ok && c.most > 0 {
			cell = p.Short(text, c.most)
		}
		out = append(out, cell)
	}
	return out
}

// each calls do with each row, until one of them fails.
func each[R any](rows iter.Seq2[R, error], do func(R) error) error {
	for r, err := range rows {
		if err == nil {
			err = do(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NoDataset says why a list of datasets is empty, and what to do next.
const NoDataset = "no dataset is registered, or you may see none; whoever runs the daemon registers one, such as: " +
	"accountctl dataset create survey --adjacency add-or-remove-one --privacy-unit user --max-records-per-unit 1 " +
	"--bound-enforced-by \"one row for each user\" --budget epsilon=8,delta=1e-6"
