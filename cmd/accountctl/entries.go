package main

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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

With --raw the stored bytes come too (base64), and in json the genesis record, so
that anyone can verify the chain of hashes.`,
		Example: `  accountctl entries team/mnist
  accountctl entries team/mnist --start 1000 --limit 10
  accountctl entries team/mnist --output csv > entries.csv
  accountctl entries team/mnist --raw --output json`,
		Args: names("NAME"),
	}
	start := c.Flags().Uint64("start", 1, "the first position")
	limit := c.Flags().Uint64("limit", 0, "how many at most; 0 is all")
	raw := c.Flags().Bool("raw", false, "with the stored bytes; not in a table")
	output := outputFlag(c, formatJSON, formatJSONL, formatCSV)
	c.RunE = func(c *cobra.Command, args []string) error {
		if *raw && output.value == formatTable {
			return usage(c, "--raw: not in a table; allowed with --output json, jsonl or csv")
		}
		return p.with(c, func(daemon *client.Client) error {
			w := p.entryWriter(output.value, *raw)
			options := client.EntriesOptions{Start: *start, PageSize: pageSize(*limit), Raw: *raw, Genesis: w.genesis}
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
		return &entryWriter{
			entry: func(e *accountantv1.Entry) error { return p.writeLine(e) },
			flush: func() error { return nil },
		}
	case formatCSV:
		return p.csvEntries(raw)
	}
	t := p.table()
	t.row("POSITION", "TIME", "PRINCIPAL", "WRITER", "SEQUENCE", "ACTION", "LABELS")
	return &entryWriter{
		entry: func(e *accountantv1.Entry) error {
			t.row(e.GetPosition(), timeText(e.GetTime()), e.GetPrincipal(), e.GetWriter(), e.GetSequence(),
				actionText(e), labelsText(e.GetCharge().GetLabels()))
			return nil
		},
		flush: t.flush,
	}
}

// csvEntries writes a line an entry; events and labels are JSON, the hash is
// hexadecimal, the stored bytes are base64.
func (p *program) csvEntries(raw bool) *entryWriter {
	w := csv.NewWriter(p.out)
	header := []string{"position", "time", "principal", "writer", "sequence", "action", "events", "labels", "reason", "hash"}
	if raw {
		header = append(header, "raw")
	}
	_ = w.Write(header) // the writer keeps the error for flush
	return &entryWriter{
		entry: func(e *accountantv1.Entry) error {
			action, events, labels := "close", "", ""
			if charge := e.GetCharge(); charge != nil {
				list, err := eventsJSON(charge.GetEvents())
				if err != nil {
					return err
				}
				pairs, err := json.Marshal(charge.GetLabels())
				if err != nil {
					return err
				}
				action, events = "charge", list
				if len(charge.GetLabels()) > 0 {
					labels = string(pairs)
				}
			}
			record := []string{
				strconv.FormatUint(e.GetPosition(), 10), e.GetTime().AsTime().Format("2006-01-02T15:04:05.000000000Z07:00"),
				e.GetPrincipal(), e.GetWriter(), strconv.FormatUint(e.GetSequence(), 10),
				action, events, labels, e.GetClose().GetReason(), hex.EncodeToString(e.GetHash()),
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

// actionText says what an entry did: its events, or that it closed the ledger.
func actionText(e *accountantv1.Entry) string {
	if e.GetClose() != nil {
		return strings.TrimSuffix("close: "+e.GetClose().GetReason(), ": ")
	}
	var parts []string
	for _, event := range e.GetCharge().GetEvents() {
		m, err := wire.ToMechanism(event.GetMechanism())
		if err != nil { // of a newer daemon, perhaps
			parts = append(parts, fmt.Sprintf("%d × (%v)", event.GetCount(), err))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d × %v", event.GetCount(), m))
	}
	return strings.Join(parts, ", ")
}
