// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// PartFlags adds --from and --to, which choose a part of a ledger's history.
func PartFlags(c *cobra.Command) *Part {
	p := &Part{}
	c.Flags().Var(&p.From, "from", FromHelp)
	c.Flags().Var(&p.To, "to", toHelp)
	return p
}

// The help of both flags.
const (
	FromHelp = "begin at a `position`, or at a time such as 2026-11-01T12:00:00Z"
	toHelp   = "end at a `position`, or at a time"
)

// Part is a part of a ledger's history.
type Part struct{ From, To End }

// End is where a part begins or ends: a position or a time.
type End struct {
	text  string
	given bool
	Also  string // what else the flag allows, for the error about a text that is neither: ", or …"
}

func (e *End) String() string { return e.text }

// Type implements pflag.Value.
func (e *End) Type() string { return "position" }

// Set implements pflag.Value. Read says what is wrong with the text.
func (e *End) Set(text string) error {
	e.text, e.given = text, true
	return nil
}

// Given reports whether there is one.
func (e *End) Given() bool { return e.given }

// Read puts the part into a request.
func (p *Part) Read(c *cobra.Command, request *accountantv1.QueryHistoryRequest) error {
	err := p.From.read(c, "from", &request.StartPosition, &request.StartTime)
	if err == nil {
		err = p.To.read(c, "to", &request.EndPosition, &request.EndTime)
	}
	return err
}

// read reads the flag of an end.
func (e *End) read(c *cobra.Command, flag string, position *uint64, at **timestamppb.Timestamp) error {
	if !e.given {
		return nil
	}
	if n, err := strconv.ParseUint(e.text, 10, 64); err == nil && (n > 0 || flag == "from") {
		*position = n
		return nil
	}
	t, err := parseTime(e.text)
	if err != nil {
		return cli.Usage(c, "--%s: %q; allowed: a position such as 5000, a date in UTC such as 2026-01-31, or a "+
			"time such as 2026-01-31T12:00:00Z%s", flag, e.text, e.Also)
	}
	*at = timestamppb.New(t)
	return nil
}

var errYear = errors.New("a year before 1 or after 9999")

// parseTime reads a time, or a date in UTC.
func parseTime(text string) (t time.Time, err error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err = time.Parse(layout, text); err == nil {
			if year := t.UTC().Year(); year < 1 || year > 9999 {
				return t, errYear
			}
			return t, nil
		}
	}
	return t, err
}
