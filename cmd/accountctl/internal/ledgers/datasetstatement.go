// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func datasetStatement(p *cli.Program) *cobra.Command {
	request := &accountantv1.GetStatementRequest{}
	call := calls.Call[*accountantv1.Statement]{
		Request:  request,
		Formats:  []string{cli.FormatMarkdown, cli.FormatJSON},
		Document: true,
		Ask: func(ctx context.Context, daemon *client.Client) (*accountantv1.Statement, error) {
			return daemon.Statement(ctx, request.GetName(), request.GetDeltas()...)
		},
		Show: func(p *cli.Program, _ string, s *accountantv1.Statement) error {
			_, err := p.Out.WriteString(s.GetMarkdown())
			return err
		},
	}
	return call.Command(p, &cobra.Command{
		Use:   "statement ID [--delta DELTA …]",
		Short: "Write a dataset's privacy statement, over all its ledgers",
		Long: `Write a dataset's privacy statement as Markdown: what holds for all that was, and will
be, released from all its ledgers together, and what each of them takes. A dataset that
shares another one's budget has that one's statement.`,
		Example: `  accountctl dataset statement survey > privacy.md
  accountctl dataset statement survey --delta 1e-6 --output json`,
	})
}
