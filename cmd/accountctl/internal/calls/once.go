// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/several"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// requestIDHelp explains --request-id in the help of every command that writes.
const requestIDHelp = `Each write has a request ID. Sent again under the same ID, the same write is done
once and gets its first receipt; without --request-id a random one is made. If it
is unknown whether a write was done, the error names the ID that resumes it.`

// OwnSocketHelp is for the commands that only the daemon's owner can run as long as there is no access policy.
const OwnSocketHelp = `Without an access policy only the daemon's owner can do this, over its own socket:
--server unix:DIR/accountant.sock with the daemon's data directory DIR. With a policy,
so can everybody to whom it gives the role. Where several daemons serve one database,
their own sockets give no right once a policy is in force: only roles count.`

// WriteFlags holds --request-id and --output of a command that makes one write.
type WriteFlags struct {
	*cli.Program
	Output *cli.Format
	key    *string
}

// AddWriteFlags adds --request-id and --output to c.
func AddWriteFlags(p *cli.Program, c *cobra.Command) *WriteFlags {
	return &WriteFlags{
		Program: p,
		Output:  cli.OutputFlag(c, cli.FormatJSON),
		key: c.Flags().String("request-id", "",
			"your key of this one write, [A-Za-z0-9._-]{1,128}; random unless given"),
	}
}

// Key returns the request ID that was given. Without one it chooses a random one, which it
// returns from then on.
func (f *WriteFlags) Key(c *cobra.Command) (string, error) {
	if *f.key == "" {
		if c.Flags().Changed("request-id") {
			return "", cli.Usage(c, "--request-id: \"\"; allowed: 1 to 128 bytes of [A-Za-z0-9._-]")
		}
		random, err := uuid.NewRandom()
		if err != nil {
			return "", err
		}
		*f.key = random.String()
	}
	return *f.key, nil
}

// Once makes one write under the command's request ID.
// Where it is unknown whether the write was done, the error names the ID that resumes it.
func Once[T any](f *WriteFlags, c *cobra.Command,
	write func(ctx context.Context, daemon *client.Client, key string) (T, error)) (answer T, err error) {
	key, err := f.Key(c)
	if err != nil {
		return answer, err
	}
	answer, err = cli.Ask(f.Program, c,
		func(ctx context.Context, daemon *client.Client) (T, error) { return write(ctx, daemon, key) })
	var e *client.Error
	if errors.As(err, &e) && (e.Unknown || e.Code == codes.Aborted) {
		err = fmt.Errorf("%w; it is unknown whether this was written: repeat the command with --request-id %s",
			err, key)
	}
	return answer, err
}

// Answer is the daemon's answer to a write.
type Answer interface {
	proto.Message
	GetReceipt() *accountantv1.Receipt
	GetReplayed() bool
}

// Run makes one write and says that it was done: "refunded".
func (f *WriteFlags) Run(c *cobra.Command, done string,
	write func(ctx context.Context, daemon *client.Client, key string) (Answer, error)) error {
	answer, err := Once(f, c, write)
	switch {
	case err != nil:
		return several.Refused(f.Program, f.Output.Value == cli.FormatJSON, err)
	case f.Output.Value == cli.FormatJSON:
		return f.WriteJSON(answer)
	}
	return f.Receipt(done, answer)
}

// maxListed is how many entries are listed for people; the JSON has all.
const maxListed = 31

// Receipt writes for people what became of a write, and further lines.
func (f *WriteFlags) Receipt(done string, answer Answer, lines ...string) error {
	if answer.GetReplayed() {
		done = "already " + done + " (replayed)"
	}
	r := answer.GetReceipt()
	where := "ledger " + r.GetLedger()
	if id, ok := strings.CutPrefix(r.GetLedger(), ledger.DatasetsPrefix); ok { // its record
		where = "dataset " + id
	}
	members := r.GetMembers()
	if len(members) > 0 {
		where = fmt.Sprintf("%d ledgers, %s, %s", len(members), spelling.Contribution(r.GetContribution()),
			r.GetLedger())
	}
	f.Paragraph(fmt.Sprintf("%s: %s, position %d, %s, %s",
		done, where, r.GetPosition(), r.GetWriter(), spelling.Time(r.GetTime())))
	for _, m := range members[:min(len(members), maxListed)] {
		_, _ = fmt.Fprintf(f.Out, "  %s, position %d\n", m.GetLedger(), m.GetPosition())
	}
	if n := len(members) - maxListed; n > 0 {
		_, _ = fmt.Fprintf(f.Out, "  and %d more (--output json lists all)\n", n)
	}
	for _, line := range lines {
		f.Paragraph(line)
	}
	return nil
}
