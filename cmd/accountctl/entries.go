package main

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func (p *program) entries() *cobra.Command {
	c := &cobra.Command{
		Use:   "entries NAME",
		Short: "List a ledger's entries",
		Long: `List what was written to a ledger, in order: position, time, who, and the events.

Filters are applied by the daemon; an entry must pass all that are given.

In csv a text that a spreadsheet would take for a formula (it begins with = + - @, a
tab or a carriage return) gets a single quote before it, and characters that steer
terminals or the direction of text are written as \u009b; json has them exactly.

With --raw the stored bytes come too (base64), and in json and jsonl the genesis
record (in jsonl as the first line): all that "accountctl verify --entries" needs.`,
		Example: `  accountctl entries team/mnist
  accountctl entries team/mnist --position 1000.. --limit 10
  accountctl entries team/mnist --label run=7 --since 2026-01-31 --until 2026-02-28T12:00:00Z
  accountctl entries team/mnist --output csv > entries.csv
  accountctl entries team/mnist --raw --output jsonl > entries.jsonl`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	filter := entryFilterFlags(c)
	limit := c.Flags().Uint64("limit", 0, "how many at most; 0 is all")
	raw := c.Flags().Bool("raw", false, "with the stored bytes; not in a table")
	output := outputFlag(c, formatJSON, formatJSONL, formatCSV)
	c.RunE = func(c *cobra.Command, args []string) error {
		if *raw && output.value == formatTable {
			return usage(c, "--raw: not in a table; allowed with --output json, jsonl or csv")
		}
		options, err := filter.options(c)
		if err != nil {
			return err
		}
		return p.with(c, func(daemon *client.Client) error {
			w := p.entryWriter(output.value, *raw)
			options.PageSize, options.Raw, options.Genesis = pageSize(*limit), *raw, w.genesis
			n := uint64(0)
			for e, err := range daemon.Entries(c.Context(), args[0], options) {
				if err == nil {
					err = w.entry(e)
				}
				if err != nil {
					return err
				}
				if n++; n == *limit {
					break
				}
			}
			return w.flush()
		})
	}
	return c
}

// pageSize asks for no more than is wanted.
func pageSize(limit uint64) uint32 {
	if limit == 0 || limit > wire.MaxPageSize {
		return wire.MaxPageSize
	}
	return uint32(limit)
}

// entryWriter writes entries one after the other in one format.
type entryWriter struct {
	genesis func(raw []byte)
	entry   func(*accountantv1.Entry) error
	flush   func() error
}

func (p *program) entryWriter(format string, raw bool) *entryWriter {
	switch format {
	case formatJSON:
		all := &accountantv1.ListEntriesResponse{}
		return &entryWriter{
			genesis: func(b []byte) { all.Genesis = b },
			entry:   func(e *accountantv1.Entry) error { all.Entries = append(all.Entries, e); return nil },
			flush:   func() error { return p.writeJSON(all) },
		}
	case formatJSONL:
		var first error
		return &entryWriter{
			genesis: func(b []byte) { first = p.writeLine(&accountantv1.ListEntriesResponse{Genesis: b}) },
			entry:   func(e *accountantv1.Entry) error { return p.writeLine(e) },
			flush:   func() error { return first },
		}
	case formatCSV:
		return p.csvEntries(raw)
	}
	t := p.table()
	t.row("POSITION", "TIME", "PRINCIPAL", "WRITER", "SEQUENCE", "ACTION", "LABELS")
	return &entryWriter{
		entry: func(e *accountantv1.Entry) error {
			d := deedOf(e)
			t.row(e.GetPosition(), timeText(e.GetTime()), e.GetPrincipal(), e.GetWriter(), e.GetSequence(), d, labelsText(d.labels))
			return nil
		},
		flush: t.flush,
	}
}

// csvEntries writes a line an entry; events and labels are JSON, of is the
// reservation or the refunded entry, the hash is hexadecimal, the stored bytes are
// base64. Text that others wrote goes through cell.
func (p *program) csvEntries(raw bool) *entryWriter {
	w := csv.NewWriter(p.out)
	header := []string{"position", "time", "principal", "writer", "sequence", "action", "of", "events", "labels", "reason", "hash"}
	if raw {
		header = append(header, "raw")
	}
	_ = w.Write(header) // the writer keeps the error for flush
	return &entryWriter{
		entry: func(e *accountantv1.Entry) error {
			d := deedOf(e)
			of, events, labels := "", "", ""
			if d.of != 0 {
				of = strconv.FormatUint(d.of, 10)
			}
			if len(d.events) > 0 {
				list, err := eventsJSON(d.events)
				if err != nil {
					return err
				}
				events = list
			}
			if len(d.labels) > 0 {
				pairs, err := json.Marshal(d.labels)
				if err != nil {
					return err
				}
				labels = string(pairs)
			}
			record := []string{
				strconv.FormatUint(e.GetPosition(), 10), e.GetTime().AsTime().Format("2006-01-02T15:04:05.000000000Z07:00"),
				cell(e.GetPrincipal()), cell(e.GetWriter()), strconv.FormatUint(e.GetSequence(), 10),
				d.name, of, events, cell(labels), cell(d.reason), hex.EncodeToString(e.GetHash()),
			}
			if raw {
				record = append(record, base64.StdEncoding.EncodeToString(e.GetRaw()))
			}
			return w.Write(record)
		},
		flush: func() error { w.Flush(); return w.Error() },
	}
}

func eventsJSON(events []*accountantv1.Event) (string, error) {
	parts := make([]string, len(events))
	for i, e := range events {
		b, err := compactJSON(e)
		if err != nil {
			return "", err
		}
		parts[i] = string(b)
	}
	return "[" + strings.Join(parts, ",") + "]", nil
}

// deed is what an entry did, for tables and csv.
type deed struct {
	name   string // "charge"
	of     uint64 // the reservation, or the entry that is refunded; 0 if none
	events []*accountantv1.Event
	labels map[string]string
	reason string
	more   string // what else there is to say
}

func deedOf(e *accountantv1.Entry) deed {
	switch a := e.GetAction().(type) {
	case *accountantv1.Entry_Charge:
		return deed{name: "charge", events: a.Charge.GetEvents(), labels: a.Charge.GetLabels()}
	case *accountantv1.Entry_Reserve:
		d := deed{name: "reserve", events: a.Reserve.GetEvents(), labels: a.Reserve.GetLabels()}
		d.more = fmt.Sprintf("for %v", time.Duration(a.Reserve.GetLifetimeSeconds())*time.Second)
		if child := a.Reserve.GetChild(); child != "" {
			d.more = "for ledger " + child
		}
		return d
	case *accountantv1.Entry_Commit:
		return deed{name: "commit", of: a.Commit.GetReservation(), events: a.Commit.GetEvents(), labels: a.Commit.GetLabels()}
	case *accountantv1.Entry_Release:
		return deed{name: "release", of: a.Release.GetReservation(), reason: a.Release.GetReason()}
	case *accountantv1.Entry_Expire:
		return deed{name: "expire", of: a.Expire.GetReservation()}
	case *accountantv1.Entry_Free:
		return deed{name: "free", of: a.Free.GetReservation(), events: a.Free.GetEvents(), reason: a.Free.GetReason()}
	case *accountantv1.Entry_Refund:
		return deed{name: "refund", of: a.Refund.GetPosition(), events: a.Refund.GetEvents(), reason: a.Refund.GetReason()}
	case *accountantv1.Entry_Raise:
		return deed{name: "raise", reason: a.Raise.GetReason(), more: raiseText(a.Raise)}
	case *accountantv1.Entry_Restored:
		return deed{name: "restored", more: "from a backup of store " + a.Restored.GetFromStoreId()}
	case *accountantv1.Entry_Reconcile:
		d := deed{name: "reconcile", events: a.Reconcile.GetEvents(), reason: a.Reconcile.GetReason()}
		switch {
		case a.Reconcile.GetAcceptLoss():
			d.more = "loss accepted"
		case len(d.events) == 0:
			d.more = "nothing lost"
		case a.Reconcile.GetOverBudget():
			d.more = "over the budget or the plan"
		}
		return d
	case *accountantv1.Entry_Close:
		return deed{name: "close", reason: a.Close.GetReason()}
	}
	return deed{name: "unknown"} // of a newer daemon
}

func raiseText(r *accountantv1.Raise) string {
	var parts []string
	for _, b := range r.GetBudgets() {
		parts = append(parts, budgetText(b))
	}
	if r.GetPlan() != nil {
		parts = append(parts, "plan of "+eventsText(r.GetPlan().GetEvents()))
	}
	return "to " + strings.Join(parts, "; ")
}

// String is the deed in one line: a charge is its events alone.
func (d deed) String() string {
	var b strings.Builder
	if d.name != "charge" {
		b.WriteString(d.name)
		if d.of != 0 {
			fmt.Fprintf(&b, " of %d", d.of)
		}
		for _, detail := range []string{d.more, d.reason, eventsText(d.events)} {
			if detail != "" {
				b.WriteString(": " + detail)
			}
		}
		return b.String()
	}
	return eventsText(d.events)
}
