// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/statement"
)

func statementOf(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "statement NAME [--delta DELTA …] [--registry FILE]",
		Short: "Write a ledger's privacy statement, for a model card",
		Long: `Write a ledger's privacy statement as Markdown, for a model card. It begins with
one paragraph that can stand alone: what holds, at which ε and δ, for whom, and the
numbers that were reported. Then it says what is protected, what holds for people with
several records, what an attacker can do, who has to be trusted, and what would hold
if the data had been shuffled. Tables with every number and the assumptions follow.

With --registry it writes a record for the registry of deployments that OpenDP keeps
(github.com/opendp/deployments-registry-data), as YAML. FILE is a record of the same
shape with what only people know, such as who publishes what and why; the ledger's
numbers are filled in, at the first --delta.

Every number is rounded to the safe side. docs/statement.md compares the statement
with that of TensorFlow Privacy and with what NIST SP 800-226 asks for.`,
		Example: `  accountctl statement team/mnist > privacy.md
  accountctl statement team/mnist --delta 1e-5 --delta 1e-7 --output json
  accountctl statement team/mnist --registry people.yaml > mnist.yaml`,
	}
	request := &accountantv1.GetStatementRequest{}
	registry := c.Flags().String("registry", "", "write a record for OpenDP's registry of deployments; `FILE` has what "+
		"only people know")
	var people []byte
	call := calls.Call[*accountantv1.Statement]{
		Request:  request,
		Formats:  []string{cli.FormatMarkdown, cli.FormatJSON},
		Document: true,
		Read: func(c *cobra.Command, _ []string) (err error) {
			switch {
			case *registry == "":
			case c.Flags().Changed("output"):
				return cli.UsageOf(c, "--registry", "--registry and --output are both given; allowed: one of them")
			default:
				people, err = p.ReadFile(c.Context(), *registry)
			}
			return err
		},
		Ask: func(ctx context.Context, daemon *client.Client) (*accountantv1.Statement, error) {
			return daemon.Statement(ctx, request.GetName(), request.GetDeltas()...)
		},
		Show: func(p *cli.Program, _ string, s *accountantv1.Statement) error {
			text := s.GetMarkdown()
			if *registry != "" {
				var err error
				delta := append(request.GetDeltas(), statement.Delta(s))[0]
				if text, err = statement.Registry(s, delta, people); err != nil {
					return cli.BadFile(*registry, err)
				}
			}
			_, err := p.Out.WriteString(text)
			return err
		},
	}
	return call.Command(p, c)
}
