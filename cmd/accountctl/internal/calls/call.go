// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"iter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Call is a command that makes one call and shows its answer, an A.
type Call[A proto.Message] struct {
	Request proto.Message // which arguments and flags complete
	// Formats are those of --output, the first of which is used without it. Without any they are table and json.
	Formats []string
	// Read, if it is set, completes the request by what is no field of it, and refuses what does not go together.
	Read func(c *cobra.Command, args []string) error
	// Ask, if it is set, gets the answer where more is to be done than to send the request.
	Ask func(ctx context.Context, daemon *client.Client) (A, error)
	// Show writes the answer in every format but JSON.
	Show func(p *cli.Program, format string, answer A) error
	// Document says that the answer is to be kept: it is waited for longer.
	Document bool
}

// Command makes c a command that makes the call.
func (q *Call[A]) Command(p *cli.Program, c *cobra.Command) *cobra.Command {
	u := usageOf(c)
	AddFlags(c, q.Request)
	if q.Formats == nil {
		q.Formats = []string{cli.FormatTable, cli.FormatJSON}
	}
	output := cli.ChoiceFlag(c, "output", "o", q.Formats...)
	u.complete(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		err := cli.Needs(c, u.needs()...)
		if err == nil {
			err = u.fill(q.Request, args)
		}
		if err == nil && q.Read != nil {
			err = q.Read(c, args)
		}
		if err != nil {
			return err
		}
		return q.Run(p, c, output.Value)
	}
	return c
}

// Run makes the call with the request as it is, and shows the answer in a format.
func (q *Call[A]) Run(p *cli.Program, c *cobra.Command, format string) error {
	answer, err := q.ask(p, c)
	if err != nil {
		return err
	}
	switch a := proto.Message(answer).(type) {
	case interface{ GetWarnings() []string }:
		p.Warn(a.GetWarnings())
	case interface {
		GetStatement() *accountantv1.Statement
	}:
		p.Warn(a.GetStatement().GetWarnings())
	}
	switch format {
	case cli.FormatJSON:
		return p.WriteJSON(answer)
	case cli.FormatWide:
		p.Widen()
	}
	return q.Show(p, format, answer)
}

func (q *Call[A]) ask(p *cli.Program, c *cobra.Command) (A, error) {
	switch {
	case q.Ask != nil && q.Document:
		return cli.AskDocument(p, c, q.Ask)
	case q.Ask != nil:
		return cli.Ask(p, c, q.Ask)
	}
	return cli.AskAll(p, c, q.Request, func(ctx context.Context, daemon *client.Client) (A, error) {
		answer, err := daemon.Ask(ctx, q.Request)
		if err != nil {
			var none A
			return none, err
		}
		return answer.(A), nil
	})
}

// List is a command that goes through all pages of a call's answer, and shows their rows.
type List[R proto.Message] struct {
	Request proto.Message // which flags complete
	// Read, if it is set, completes the request by what is no field of it.
	Read func(c *cobra.Command, args []string) error
	Rows cli.List[R]
	// Over, if it is set, sees the rows as they come.
	Over func(rows iter.Seq2[R, error]) iter.Seq2[R, error]
}

// Command makes c a command that makes the call.
func (l *List[R]) Command(p *cli.Program, c *cobra.Command) *cobra.Command {
	u := usageOf(c)
	AddFlags(c, l.Request)
	output := cli.OutputFlag(c, l.Rows.Formats()...)
	u.complete(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		err := u.fill(l.Request, args)
		if err == nil && l.Read != nil {
			err = l.Read(c, args)
		}
		if err != nil {
			return err
		}
		l.Rows.Page = api.NewAnswer(api.Asking(l.Request))
		return p.With(c, func(daemon *client.Client) error {
			rows := client.Pages[R](c.Context(), daemon, l.Request)
			if l.Over != nil {
				rows = l.Over(rows)
			}
			return l.Rows.Write(p, output.Value, rows)
		})
	}
	return c
}
