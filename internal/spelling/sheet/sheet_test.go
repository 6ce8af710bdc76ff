// SPDX-License-Identifier: Apache-2.0

package sheet_test

import (
	"encoding/csv"
	"math"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

func TestCell(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"stopped early", "stopped early"}, {"a=b", "a=b"},
		{`=HYPERLINK("http://x","y")`, `'=HYPERLINK("http://x","y")`}, {"+1", "'+1"}, {"-1", "'-1"},
		{"@SUM(A1)", "'@SUM(A1)"}, {"  =1", "  '=1"}, {"＝1", "'＝1"},
		{"a;=1;b", "a;'=1;b"}, {"a; =1", "a; '=1"}, {"a\n=1", "a\n'=1"}, {"a;b", "a;b"},
		{"\t=1", "'\t=1"}, {"\r=1", "'\r=1"}, {"\u009b31mred", `\u009b31mred`}, {"\x1b[2J", `\u001b[2J`},
		{"two\nlines", "two\nlines"}, {"\u202egnp", `\u202egnp`}, {"é", "é"},
	} {
		if got := sheet.Cell(c.in); got != c.want {
			t.Errorf("cell(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// No text of a row is a formula to a spreadsheet, whichever of the usual characters it takes for the end of a cell, and
// the infinite number stays one.
func TestRowsHaveNoFormula(t *testing.T) {
	const evil = `=cmd|'/c calc'!A1`
	inf := math.Inf(1)
	rows := [][]string{sheet.Overview(&pb.OverviewRow{Name: evil, DatasetId: "x;" + evil,
		Owners: []string{"+" + evil, evil}, Problem: "-" + evil, EpsilonSpent: &inf, Warnings: []string{evil}})}
	entry, err := sheet.Entry(&pb.Entry{Position: 1, Principal: "@" + evil, Writer: "a\r\n" + evil,
		Action: &pb.Entry_Refund{Refund: &pb.Refund{Position: 3, Reason: "a\";" + evil}}})
	if err != nil {
		t.Fatal(err)
	}
	rows = append(rows, entry)
	for _, row := range rows {
		var b strings.Builder
		c := sheet.NewCSV(&b, []string{"head"})
		if err := c.Row(row); err != nil || c.Flush() != nil {
			t.Fatal(err)
		}
		for _, separator := range []rune{',', ';', '\t'} {
			r := csv.NewReader(strings.NewReader(b.String()))
			r.Comma, r.LazyQuotes, r.FieldsPerRecord = separator, true, -1
			all, err := r.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range all {
				for _, cell := range line {
					if cell != "+Inf" && strings.ContainsAny(strings.TrimLeft(cell, " ")+"x", "=+-@") &&
						strings.ContainsRune("=+-@", rune(strings.TrimLeft(cell, " ")[0])) {
						t.Errorf("separated by %q a cell begins a formula: %q", separator, cell)
					}
				}
			}
		}
		if row[0] == evil && !strings.Contains(b.String(), ",+Inf,") {
			t.Errorf("an infinite ε is no number any more: %s", b.String())
		}
	}
}

// Each row has as many cells as its head, also of points before a budget was given.
func TestRowsFitTheirHeads(t *testing.T) {
	entry, err := sheet.Entry(&pb.Entry{Set: &pb.SetPart{Journal: "j", Position: 1}})
	h := &pb.QueryHistoryResponse{Budgets: []string{"a", "b"}}
	full := &pb.HistoryPoint{Shares: []float64{1, 2}, ReservedShares: []float64{0, 0}}
	for _, c := range []struct{ head, row []string }{
		{sheet.OverviewHead(), sheet.Overview(&pb.OverviewRow{})}, {sheet.EntryHead(), entry},
		{sheet.HistoryHead(h), sheet.History(h, &pb.HistoryPoint{})}, {sheet.HistoryHead(h), sheet.History(h, full)},
	} {
		if len(c.head) != len(c.row) || err != nil {
			t.Errorf("%d names and %d cells: %q, %v", len(c.head), len(c.row), c.row, err)
		}
	}
}
