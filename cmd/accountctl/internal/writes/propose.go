// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Proposing is the flag --propose of a command whose write may need two people.
type Proposing struct {
	*Flags
	propose *bool
	Record  string // the name of the dataset's record that is to change; "" for a ledger
}

// AddProposing adds --propose beside the other flags of a write.
func AddProposing(c *cobra.Command, f *Flags) Proposing {
	return Proposing{Flags: f, propose: c.Flags().Bool("propose", false,
		"do nothing but propose it, for another officer to approve (accountctl approvals)")}
}

// Run makes the write, or proposes it. The proposal is made once the request is complete.
func (p Proposing) Run(c *cobra.Command, done string, proposed func() *accountantv1.Propose,
	complete func(context.Context, *client.Client) error,
	write func(ctx context.Context, daemon *client.Client, key string) (Answer, error)) error {
	if *p.propose {
		done = "proposed, for another officer to approve"
	}
	return p.Flags.Run(c, done, func(ctx context.Context, daemon *client.Client, key string) (Answer, error) {
		if complete != nil {
			if err := complete(ctx, daemon); err != nil {
				return nil, err
			}
		}
		if *p.propose {
			name := p.Record
			if name == "" { // the first argument is the ledger, as of every command that writes to one
				name = c.Flags().Arg(0)
			}
			return daemon.WriteOnce(ctx, name, key, proposed())
		}
		return write(ctx, daemon, key)
	})
}
