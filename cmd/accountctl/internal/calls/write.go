// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Write is a command that makes one write, to the ledger NAME or to the record of the dataset ID. The action says by
// its type which method that is.
type Write struct {
	Action proto.Message // what is done, which arguments and flags complete
	Done   string        // what is said once it is done: "refunded"
	// Read, if it is set, completes the action by what is no field of it, and refuses what does not go together.
	Read func(c *cobra.Command, args []string) error
	// Complete, if it is set, gives the action what was not given and cannot be other than the ledger has it.
	Complete func(ctx context.Context, daemon *client.Client, ledger string) error
}

// Command makes c a command that makes the write. The method's options say whether --propose is among its flags, and
// who may call it, which the help tells.
func (w *Write) Command(p *cli.Program, c *cobra.Command) *cobra.Command {
	needs := api.Access(api.Writing(w.Action))
	AddFlags(c, w.Action)
	flags, propose := AddWriteFlags(p, c), new(bool)
	if n := needs.GetPeople(); n == accountantv1.Access_TWO || n == accountantv1.Access_TWO_FOR_BUDGETS {
		c.Flags().BoolVar(propose, "propose", false,
			"do nothing but propose it, for another officer to approve (accountctl approvals)")
	}
	if needs.GetOwnSocket() {
		c.Long += "\n\n" + OwnSocketHelp
	}
	c.Long += "\n\n" + requestIDHelp
	u := usageOf(c)
	u.complete(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.Needs(c, u.needs()...); err != nil {
			return err
		}
		if _, err := flags.Key(c); err != nil {
			return err
		}
		ledger := u.ledger(args[0])
		if err := u.fill(w.Action, args); err != nil {
			return err
		}
		if w.Read != nil {
			if err := w.Read(c, args); err != nil {
				return err
			}
		}
		action, done := w.Action, w.Done
		if *propose {
			action, done = proposal(w.Action), "proposed, for another officer to approve"
		}
		return flags.Run(c, done, func(ctx context.Context, daemon *client.Client, key string) (Answer, error) {
			if w.Complete != nil {
				if err := w.Complete(ctx, daemon, ledger); err != nil {
					return nil, err
				}
			}
			return daemon.WriteOnce(ctx, ledger, key, action)
		})
	}
	return c
}

// proposal asks another person to approve an action.
func proposal(action proto.Message) *accountantv1.Propose {
	out, m := &accountantv1.Propose{}, action.ProtoReflect()
	fields := out.ProtoReflect().Descriptor().Oneofs().ByName("action").Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() == m.Descriptor() {
			out.ProtoReflect().Set(f, protoreflect.ValueOfMessage(m))
		}
	}
	return out
}
