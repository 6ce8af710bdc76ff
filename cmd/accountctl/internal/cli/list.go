// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"iter"

	"google.golang.org/protobuf/proto"
)

// List is how the rows of a list are shown.
type List[T proto.Message] struct {
	Head  func() []any            // the columns' names
	Row   func(T) []any           // one row of the table
	Whole func([]T) proto.Message // all rows as one object
	Empty func() string           // what a reader of a table is told, on standard error, if there is no row
}

// Write writes the rows in a format that OutputFlag allows for lists: a table that fits the
// terminal, or with wide has its full width; one JSON object; or one in each line.
func (l List[T]) Write(p *Program, format string, rows iter.Seq2[T, error]) error {
	if format == FormatWide {
		p.Widen()
	}
	t := p.Table()
	if format == FormatTable || format == FormatWide {
		t.Row(l.Head()...)
	}
	var all []T
	none := true
	for row, err := range rows {
		if err != nil {
			return err
		}
		none = false
		switch format {
		case FormatJSON:
			all = append(all, row)
		case FormatJSONL:
			if err := p.WriteLine(row); err != nil {
				return err
			}
		default:
			t.Row(l.Row(row)...)
		}
	}
	if format == FormatJSON {
		return p.WriteJSON(l.Whole(all))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if none && format != FormatJSONL {
		p.Note(l.Empty())
	}
	return nil
}

// NoDataset says why a list of datasets is empty, and what to do next.
const NoDataset = "no dataset is registered, or you may see none; whoever runs the daemon registers one, such as: " +
	"accountctl dataset create survey --adjacency add-or-remove-one --privacy-unit user --max-records-per-unit 1 " +
	"--bound-enforced-by \"one row for each user\" --budget epsilon=8,delta=1e-6"
