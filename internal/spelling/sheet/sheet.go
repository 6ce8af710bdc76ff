// SPDX-License-Identifier: Apache-2.0

// Package sheet spells answers of the API as tables: the columns that commands write as CSV and pages offer as files.
package sheet

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// CSV writes tables as CSV. Every cell goes through Cell, whoever wrote it, but the one number that begins like a
// formula.
type CSV struct{ w *csv.Writer }

// NewCSV returns a writer that begins with a line of names.
func NewCSV(out io.Writer, head []string) CSV {
	c := CSV{csv.NewWriter(out)}
	_ = c.w.Write(head) // the writer keeps the error for Flush
	return c
}

// Row writes a line.
func (c CSV) Row(cells []string) error {
	out := make([]string, len(cells))
	for i, cell := range cells {
		if out[i] = cell; cell != "+Inf" {
			out[i] = Cell(cell)
		}
	}
	return c.w.Write(out)
}

// Flush writes what is still kept, and returns the first error of all writes.
func (c CSV) Flush() error {
	c.w.Flush()
	return c.w.Error()
}

// Cell makes text that others wrote harmless in a CSV file: a spreadsheet takes none of it for a formula, at the
// beginning or after a semicolon, which separates cells in many countries, and no terminal is steered by it.
func Cell(s string) string {
	var b strings.Builder
	begins := true // a cell may begin here
	for _, r := range s {
		if begins && strings.ContainsRune("=+-@\t\r＝＋－＠", r) {
			b.WriteByte('\'')
		}
		begins = r == ';' || r == '\n' || begins && r == ' '
		if wirejson.Steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// OverviewHead names the cells of Overview. New columns come last, as in all tables, so that programs find the others
// where they were.
func OverviewHead() []string {
	return []string{"name", "dataset_id", "owners", "state", "flags", "position", "create_time", "last_time",
		"delta", "epsilon_spent", "epsilon", "guarantee", "share", "reserved_share", "share_of", "problem",
		"not_counted"}
}

// Overview is a row of the overview. What its numbers do not count stands in it.
func Overview(r *pb.OverviewRow) []string {
	return []string{r.GetName(), r.GetDatasetId(), strings.Join(r.GetOwners(), ", "), r.GetState(),
		strings.Join(r.GetFlags(), ", "), strconv.FormatUint(r.GetPosition(), 10), Time(r.GetCreateTime()),
		Time(r.GetLastTime()), spelling.Exact(r.GetDelta()), known(r.EpsilonSpent), known(r.Epsilon), r.GetGuarantee(),
		known(r.Share), known(r.ReservedShare), r.GetShareOf(), r.GetProblem(), strings.Join(r.GetWarnings(), " ")}
}

// HistoryHead names the cells of History.
func HistoryHead(a *pb.QueryHistoryResponse) []string {
	head := []string{"position", "time", "asked_time", "delta", "epsilon_spent", "epsilon", "guarantee"}
	for i := range a.GetBudgets() {
		head = append(head, fmt.Sprintf("share_%d", i+1), fmt.Sprintf("reserved_share_%d", i+1))
	}
	return append(head, "not_counted")
}

// History is a point of a history. Before a budget was given its cells are empty.
func History(a *pb.QueryHistoryResponse, x *pb.HistoryPoint) []string {
	row := []string{strconv.FormatUint(x.GetPosition(), 10), Time(x.GetTime()), Time(x.GetAskedTime()),
		spelling.Exact(a.GetDelta()), spelling.Exact(x.GetEpsilonSpent()), spelling.Exact(x.GetEpsilon()),
		x.GetGuarantee()}
	for i := range a.GetBudgets() {
		if i < len(x.GetShares()) {
			row = append(row, spelling.Exact(x.GetShares()[i]), spelling.Exact(x.GetReservedShares()[i]))
		} else {
			row = append(row, "", "")
		}
	}
	return append(row, strings.Join(a.GetWarnings(), " "))
}

// LedgerSpendingHead names the cells of LedgerSpending.
func LedgerSpendingHead() []string {
	return []string{"ledger", "dataset_id", "name", "entries", "charged", "reserved", "delta", "epsilon_alone", "share",
		"share_of", "last_time", "position", "problem", "not_counted"}
}

// LedgerSpending is what a group has spent of one ledger, with the share of the budget of which it has used most. The
// first cells are empty where that was not found.
func LedgerSpending(r *pb.LedgerSpending) []string {
	row := []string{r.GetLedger(), r.GetDatasetId(), "", "", "", "", "", "", "", "", "",
		strconv.FormatUint(r.GetPosition(), 10), r.GetProblem(), strings.Join(r.GetWarnings(), " ")}
	if g := r.GetGroup(); g != nil {
		share, of := spelling.LargestShare(r)
		copy(row[2:], []string{g.GetName(), strconv.FormatUint(g.GetEntries(), 10),
			strconv.FormatUint(g.GetCharged(), 10), strconv.FormatUint(g.GetReserved(), 10),
			spelling.Exact(r.GetDelta()), spelling.Exact(g.GetEpsilon()), known(share), of, Time(g.GetLastTime())})
	}
	return row
}

// DatasetLedgerHead names the cells of DatasetLedger.
func DatasetLedgerHead() []string {
	return []string{"ledger", "dataset_id", "version", "policy", "state", "applications", "share", "guarantee"}
}

// DatasetLedger is a ledger of a dataset, with the share of the dataset's budget that it takes.
func DatasetLedger(l *pb.DatasetLedger) []string {
	state := "open"
	if l.GetClosed() {
		state = "closed"
	}
	return []string{l.GetName(), l.GetOf().GetId(), l.GetOf().GetVersion(), strings.ToLower(l.GetPolicy().String()),
		state, strconv.FormatUint(l.GetTotalCount(), 10), spelling.Exact(l.GetShare()), l.GetGuarantee()}
}

// EntryHead names the cells of Entry.
func EntryHead() []string {
	return []string{"position", "time", "principal", "writer", "sequence", "action", "of", "events", "labels", "reason",
		"hash", "set", "set_ledgers", "set_contribution", "comment"}
}

// Entry is an entry of a ledger: events and labels are JSON, of is the reservation or the refunded entry, and the hash
// is hexadecimal. The three cells after it say of which set of ledgers it is a part: where that is written down, in the
// form of a reservation's name, how many ledgers it has, and its contribution.
func Entry(e *pb.Entry) ([]string, error) {
	d := spelling.ActionOf(e)
	of, labels := "", ""
	if d.Of != 0 {
		of = strconv.FormatUint(d.Of, 10)
	}
	events, err := eventsJSON(d.Events)
	if err != nil {
		return nil, err
	}
	if len(d.Labels) > 0 {
		pairs, err := json.Marshal(d.Labels)
		if err != nil {
			return nil, err
		}
		labels = string(pairs)
	}
	row := []string{strconv.FormatUint(e.GetPosition(), 10), Time(e.GetTime()), e.GetPrincipal(), e.GetWriter(),
		strconv.FormatUint(e.GetSequence(), 10), d.Name, of, events, labels, d.Reason, hex.EncodeToString(e.GetHash())}
	s := e.GetSet()
	if s == nil {
		return append(row, "", "", "", d.Comment), nil
	}
	return append(row, fmt.Sprintf("%s:%d", s.GetJournal(), s.GetPosition()), fmt.Sprint(s.GetMembers()),
		spelling.Contribution(s.GetContribution()), d.Comment), nil
}

func eventsJSON(events []*pb.Event) (string, error) {
	if len(events) == 0 {
		return "", nil
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i, e := range events {
		b, err := wirejson.Marshal(e)
		if err != nil {
			return "", err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		if err := json.Compact(&out, b); err != nil {
			return "", err
		}
	}
	out.WriteByte(']')
	return out.String(), nil
}

// known is a number that may be absent.
func known(x *float64) string {
	if x == nil {
		return ""
	}
	return spelling.Exact(*x)
}

// Time is a time that may be absent, to the nanosecond.
func Time(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02T15:04:05.000000000Z07:00")
}
