// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"encoding/base64"
	"errors"
	"iter"
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
	page := &accountantv1.ListEntriesResponse{}
	list := cli.List[*accountantv1.Entry]{
		Columns: cli.Columns("POSITION", "TIME", "PRINCIPAL, 12, principals", "WRITER, wide", "SEQUENCE, wide",
			"ACTION, wide", "LABELS, wide", "ACTION, narrow"),
		Row: func(e *accountantv1.Entry) []any {
			d := spelling.ActionOf(e)
			labels := spelling.Labels(d.Labels)
			return []any{e.GetPosition(), spelling.Time(e.GetTime()), e.GetPrincipal(), e.GetWriter(), e.GetSequence(),
				d, labels, strings.TrimSpace(d.String() + "  " + labels)}
		},
		CSV:     sheet.Entry,
		CSVHead: sheet.EntryHead(),
		Page:    page,
	}
	output := cli.OutputFlag(c, list.Formats()...)
	c.RunE = func(c *cobra.Command, args []string) error {
		table := output.Value == cli.FormatTable || output.Value == cli.FormatWide
		if request.Raw && table {
			return cli.Usage(c, "--raw: not in a table; allowed with --output json, jsonl or csv")
		}
		if request.Raw {
			list.CSVHead, list.CSV = append(list.CSVHead, "raw"), rawCSV
		}
		list.Empty = func() string { return noEntry(args[0], request) }
		options := client.EntriesOptions{Start: request.StartPosition, End: request.EndPosition, Writer: request.Writer,
			Labels: request.Labels, Raw: request.Raw, PageSize: pageSize(*limit)}
		if request.Since != nil {
			options.Since = request.Since.AsTime()
		}
		if request.Until != nil {
			options.Until = request.Until.AsTime()
		}
		options.Genesis = func(raw []byte) {
			if page.Genesis = raw; output.Value == cli.FormatJSONL {
				_ = p.WriteLine(page) // the writer keeps the error
			}
		}
		return p.With(c, func(daemon *client.Client) error {
			return list.Write(p, output.Value, first(*limit, daemon.Entries(c.Context(), args[0], options)))
		})
	}
	return c
}

// first are at most n rows; all if it is 0.
func first[R any](n uint64, rows iter.Seq2[R, error]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		left := n
		for r, err := range rows {
			if left--; !yield(r, err) || left == 0 {
				return
			}
		}
	}
}

// noEntry says why a list of entries is empty, and what to do next.
func noEntry(name string, r *accountantv1.ListEntriesRequest) string {
	if r.StartPosition > 1 || r.EndPosition > 0 || r.Writer != "" || len(r.Labels) > 0 || r.Since != nil ||
		r.Until != nil {
		return "no entry of " + name + " passes these filters; leave them out to see all"
	}
	return name + " has no entry yet: a training job reports to it, or somebody does by hand with accountctl " +
		"report " + name
}

// pageSize asks for no more than is wanted.
func pageSize(limit uint64) uint32 {
	if limit == 0 || limit > pages.MaxSize {
		return pages.MaxSize
	}
	return uint32(limit)
}

// rawCSV are the cells of an entry with its stored bytes, in base64.
func rawCSV(e *accountantv1.Entry) ([]string, error) {
	row, err := sheet.Entry(e)
	return append(row, base64.StdEncoding.EncodeToString(e.GetRaw())), err
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
