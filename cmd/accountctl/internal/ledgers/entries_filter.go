// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
)

// entryFilter is the flags that say which entries.
type entryFilter struct {
	position, writer string
	since, until     string
	labels           *values.LabelsValue
}

func entryFilterFlags(c *cobra.Command) *entryFilter {
	e := &entryFilter{labels: values.LabelsFlag(c)}
	f := c.Flags()
	f.StringVar(&e.position, "position", "", "positions FIRST..LAST, FIRST.., ..LAST, or one")
	f.StringVar(&e.writer, "writer", "", "only entries of this writer: a UUID, or request/ID")
	f.StringVar(&e.since, "since", "", "only entries taken at this time or later: 2026-01-31, or 2026-01-31T12:00:00Z")
	f.StringVar(&e.until, "until", "", "only entries taken before this time")
	return e
}

// options is what the client is asked for.
func (e *entryFilter) options(c *cobra.Command) (o client.EntriesOptions, err error) {
	o = client.EntriesOptions{Writer: e.writer, Labels: *e.labels}
	if c.Flags().Changed("position") {
		if o.Start, o.End, err = positions(e.position); err != nil {
			return o, cli.Usage(c, "--position: %q; allowed: FIRST..LAST, FIRST.., ..LAST or one position, all ≥ 1",
				e.position)
		}
	}
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"since", e.since, &o.Since}, {"until", e.until, &o.Until}} {
		if !c.Flags().Changed(t.flag) {
			continue
		}
		if *t.to, err = values.ParseTime(t.text); err != nil {
			return o, cli.Usage(c, "--%s: %q; allowed: a date in UTC such as 2026-01-31, or a time such as "+
				"2026-01-31T12:00:00Z", t.flag, t.text)
		}
	}
	return o, nil
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
