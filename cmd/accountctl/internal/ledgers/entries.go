// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

func entries(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "entries NAME [--position FIRST..LAST] [--writer WRITER] [--label KEY=VALUE …] [--since TIME] " +
			"[--until TIME] [--limit N] [--raw]",
		Short: "List a ledger's entries",
		Long: `List what was written to a ledger, in order: position, time, who, and the events.
On a terminal the table fits its width; --output wide shows every column, and
identifiers whole.

Filters are applied by the daemon; an entry must pass all that are given.

In csv a text that a spreadsheet would take for a formula (it begins with = + - @, a
tab or a carriage return) gets a single quote before it, and characters that steer
terminals or the direction of text are written as \u009b; json has them exactly.

With --raw the stored bytes come too (base64), and in json and jsonl the genesis
record (in jsonl as the first line): all that "accountctl verify --entries" needs.`,
		Example: `  accountctl ledger entries team/mnist
  accountctl ledger entries team/mnist --position 1000.. --limit 10
  accountctl ledger entries team/mnist --label run=7 --since 2026-01-31 --until 2026-02-28T12:00:00Z
  accountctl ledger entries team/mnist --output csv > entries.csv
  accountctl ledger entries team/mnist --raw --output jsonl > entries.jsonl`,
		Args:              cli.Arguments("NAME"),
		ValidArgsFunction: p.CompleteLedger,
	}
	request := &accountantv1.ListEntriesRequest{}
	c.Flags().Func("position", "positions `FIRST..LAST`, FIRST.., ..LAST, or one", func(text string) (err error) {
		if request.StartPosition, request.EndPosition, err = positions(text); err != nil {
			err = errors.New("allowed: FIRST..LAST, FIRST.., ..LAST or one position, all ≥ 1")
		}
		return err
	})
	limit := c.Flags().Uint64("limit", 0, "how many at most; 0 is all")
	calls.AddFlags(c, request)
	output := cli.OutputFlag(c, cli.FormatJSON, cli.FormatJSONL, cli.FormatCSV, cli.FormatWide)
	c.RunE = func(c *cobra.Command, args []string) error {
		if request.Raw && (output.Value == cli.FormatTable || output.Value == cli.FormatWide) {
			return cli.Usage(c, "--raw: not in a table; allowed with --output json, jsonl or csv")
		}
		options := client.EntriesOptions{Start: request.StartPosition, End: request.EndPosition, Writer: request.Writer,
			Labels: request.Labels, Raw: request.Raw}
		if request.Since != nil {
			options.Since = request.Since.AsTime()
		}
		if request.Until != nil {
			options.Until = request.Until.AsTime()
		}
		return p.With(c, func(daemon *client.Client) error {
			w := newEntryWriter(p, output.Value, request.Raw)
			options.PageSize, options.Genesis = pageSize(*limit), w.genesis
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
			if err := w.flush(); err != nil {
				return err
			}
			if n == 0 && (output.Value == cli.FormatTable || output.Value == cli.FormatWide) {
				p.Note(noEntry(args[0], options))
			}
			return nil
		})
	}
	return c
}

// pageSize asks for no more than is wanted.
// noEntry says why a list of entries is empty, and what to do next.
func noEntry(name string, o client.EntriesOptions) string {
	if o.Start > 1 || o.End > 0 || o.Writer != "" || len(o.Labels) > 0 || !o.Since.IsZero() || !o.Until.IsZero() {
		return "no entry of " + name + " passes these filters; leave them out to see all"
	}
	return name + " has no entry yet: a training job reports to it, or somebody does by hand with accountctl " +
		"report " + name
}

func pageSize(limit uint64) uint32 {
	if limit == 0 || limit > pages.MaxSize {
		return pages.MaxSize
	}
	return uint32(limit)
}

// entryWriter writes entries one after the other in one format.
type entryWriter struct {
	genesis func(raw []byte)
	entry   func(*accountantv1.Entry) error
	flush   func() error
}

func newEntryWriter(p *cli.Program, format string, raw bool) *entryWriter {
	switch format {
	case cli.FormatJSON:
		all := &accountantv1.ListEntriesResponse{}
		return &entryWriter{
			genesis: func(b []byte) { all.Genesis = b },
			entry:   func(e *accountantv1.Entry) error { all.Entries = append(all.Entries, e); return nil },
			flush:   func() error { return p.WriteJSON(all) },
		}
	case cli.FormatJSONL:
		var first error
		return &entryWriter{
			genesis: func(b []byte) { first = p.WriteLine(&accountantv1.ListEntriesResponse{Genesis: b}) },
			entry:   func(e *accountantv1.Entry) error { return p.WriteLine(e) },
			flush:   func() error { return first },
		}
	case cli.FormatCSV:
		return csvEntries(p, raw)
	}
	if format == cli.FormatWide {
		p.Widen()
	}
	if p.Narrow() {
		t := p.Table()
		t.Row("POSITION", "TIME", "PRINCIPAL", "ACTION")
		return &entryWriter{
			entry: func(e *accountantv1.Entry) error {
				d := spelling.ActionOf(e)
				t.Row(e.GetPosition(), spelling.Time(e.GetTime()), p.ShortName(e.GetPrincipal(), 12),
					strings.TrimSpace(d.String()+"  "+spelling.Labels(d.Labels)))
				return nil
			},
			flush: t.Flush,
		}
	}
	t := p.Table()
	t.Row("POSITION", "TIME", "PRINCIPAL", "WRITER", "SEQUENCE", "ACTION", "LABELS")
	return &entryWriter{
		entry: func(e *accountantv1.Entry) error {
			d := spelling.ActionOf(e)
			t.Row(e.GetPosition(), spelling.Time(e.GetTime()), e.GetPrincipal(), e.GetWriter(), e.GetSequence(), d,
				spelling.Labels(d.Labels))
			return nil
		},
		flush: t.Flush,
	}
}

// csvEntries writes a line an entry; with raw its stored bytes come last, in base64.
func csvEntries(p *cli.Program, raw bool) *entryWriter {
	head := sheet.EntryHead()
	if raw {
		head = append(head, "raw")
	}
	w := sheet.NewCSV(p.Out, head)
	return &entryWriter{
		entry: func(e *accountantv1.Entry) error {
			row, err := sheet.Entry(e)
			if err != nil {
				return err
			}
			if raw {
				row = append(row, base64.StdEncoding.EncodeToString(e.GetRaw()))
			}
			return w.Row(row)
		},
		flush: w.Flush,
	}
}

// positions reads a range; an end that is not given is 0.
func positions(text string) (first, last uint64, err error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	if from == "" && to == "" {
		return 0, 0, errors.New("no position")
	}
	number := func(s string) uint64 {
		if s == "" {
			return 0
		}
		n, e := strconv.ParseUint(s, 10, 64)
		if e == nil && n == 0 {
			e = errors.New("position 0")
		}
		err = errors.Join(err, e)
		return n
	}
	first, last = number(from), number(to)
	if err == nil && last > 0 && last < first {
		err = errors.New("the last comes before the first")
	}
	return first, last, err
}
