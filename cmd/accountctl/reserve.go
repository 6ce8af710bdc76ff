package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) reserve() *cobra.Command {
	c := &cobra.Command{
		Use:   "reserve NAME (--file FILE | MECHANISM flags) --lifetime DURATION",
		Short: "Set a part of a ledger's budget aside",
		Long: `Set events aside on a ledger with a plan or budgets, together or not at all. From
then on nobody else can use them. What is committed is charged; what is released is
free again; what is left when the lifetime is over is charged, because nobody knows
whether it was used. The receipt's position names the reservation.

Mechanisms and their flags:

` + mechanismHelp() + `
` + requestIDHelp + `

` + workloadHelp,
		Example: `  accountctl reserve team/mnist --file workload.json --lifetime 24h --label run=7
  accountctl reserve team/census laplace --scale 10 --sensitivity 1 --count 20 --lifetime 1h --output json`,
		Args:              chargeArgs,
		ValidArgsFunction: p.completeCharge,
	}
	flags := addChargeFlags(c)
	lifetime := c.Flags().Duration("lifetime", 0, "how long, in whole seconds: 1s to 8784h (366 days)")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("lifetime") {
			return usage(c, "--lifetime is missing; allowed: 1s to 8784h (366 days), such as 24h")
		}
		charge, err := p.charge(c, args[1:], *flags.file, flags.mechanism)
		if err != nil {
			return err
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ReserveResponse, error) {
			if err := charge.matches(ctx, daemon, args[0]); err != nil {
				return nil, err
			}
			return daemon.ReserveOnce(ctx, args[0], key, charge.events, *lifetime, *flags.labels)
		})
		switch {
		case err != nil:
			return resumable(err, key)
		case output.value == formatJSON:
			return p.writeJSON(answer)
		}
		if err := p.writeReceipt("reserved", answer.GetReceipt(), answer.GetReplayed()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "reservation %d, until %s\n", answer.GetReceipt().GetPosition(), timeText(answer.GetExpireTime()))
		return err
	}
	return c
}

func (p *program) commit() *cobra.Command {
	c := &cobra.Command{
		Use:   "commit NAME --reservation POSITION (--file FILE | MECHANISM flags)",
		Short: "Charge a part of what was reserved",
		Long: `Charge events that a reservation holds; it is never refused for lack of budget. A
reservation of which nothing is left is closed.

Mechanisms and their flags:

` + mechanismHelp() + `
` + requestIDHelp + `

` + workloadHelp,
		Example: `  accountctl commit team/mnist --reservation 12 --file done.json --label step=500
  accountctl commit team/census --reservation 3 laplace --scale 10 --sensitivity 1`,
		Args:              chargeArgs,
		ValidArgsFunction: p.completeCharge,
	}
	flags := addChargeFlags(c)
	reservation := reservationFlag(c)
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needs(c, "reservation"); err != nil {
			return err
		}
		charge, err := p.charge(c, args[1:], *flags.file, flags.mechanism)
		if err != nil {
			return err
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.CommitResponse, error) {
			if err := charge.matches(ctx, daemon, args[0]); err != nil {
				return nil, err
			}
			return daemon.CommitOnce(ctx, args[0], key, *reservation, charge.events, *flags.labels)
		})
		return p.written("committed", output, answer, key, err)
	}
	return c
}

func (p *program) release() *cobra.Command {
	c := &cobra.Command{
		Use:   "release NAME --reservation POSITION [--nothing-released --reason REASON]",
		Short: "Give back the rest of what was reserved",
		Long: `Give back what is left of a reservation of your own: nothing was, or will be,
computed from the data for it.

With --nothing-released it may be anybody's, such as that of a job that died. You
assert that nothing computed for what is left of it was, or will be, released. Every
later answer and statement lists that as an assumption, and its guarantee is
descriptive. If you cannot assert it, charge the rest: accountctl expire.
` + ownSocketHelp + `

` + requestIDHelp,
		Example: `  accountctl release team/mnist --reservation 12 --reason "stopped early"
  accountctl release team/mnist --reservation 12 --nothing-released --reason "its machine died before the first step" --server unix:data/accountant.sock`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	reservation := reservationFlag(c)
	reason := c.Flags().String("reason", "", "why; kept in the ledger, and with --nothing-released shown with every answer")
	nothing := c.Flags().Bool("nothing-released", false, "assert that nothing computed for it was, or will be, released: for somebody else's reservation")
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needs(c, "reservation"); err != nil {
			return err
		}
		if *nothing {
			if err := needs(c, "reason"); err != nil {
				return err
			}
			free := &accountantv1.Free{Reservation: *reservation, NothingReleased: true, Reason: *reason}
			answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.FreeResponse, error) {
				return daemon.FreeOnce(ctx, args[0], key, free)
			})
			return p.written("freed", output, answer, key, err)
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ReleaseResponse, error) {
			return daemon.ReleaseOnce(ctx, args[0], key, *reservation, *reason)
		})
		return p.written("released", output, answer, key, err)
	}
	return c
}

func (p *program) expire() *cobra.Command {
	c := &cobra.Command{
		Use:   "expire NAME --reservation POSITION",
		Short: "Charge the rest of what was reserved, now",
		Long: `Charge what is left of a reservation now, whoever made it, instead of when its time is
over: for a job that died, of which nobody knows what it has used. A refund can give
that back later, once somebody knows.
` + ownSocketHelp + `

` + requestIDHelp,
		Example:           `  accountctl expire team/mnist --reservation 12 --server unix:data/accountant.sock`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	reservation := reservationFlag(c)
	id := requestIDFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needs(c, "reservation"); err != nil {
			return err
		}
		answer, key, err := onceWith(p, c, *id, func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ExpireResponse, error) {
			return daemon.ExpireOnce(ctx, args[0], key, *reservation)
		})
		return p.written("expired", output, answer, key, err)
	}
	return c
}

func reservationFlag(c *cobra.Command) *uint64 {
	return c.Flags().Uint64("reservation", 0, "the `POSITION` of the entry that made it; ledger get lists them")
}

// needs requires flags that have no default.
func needs(c *cobra.Command, flags ...string) error {
	for _, f := range flags {
		if !c.Flags().Changed(f) {
			return usage(c, "--%s is missing", f)
		}
	}
	return nil
}

// onceWith makes one write under the given or a random request ID.
func onceWith[T any](p *program, c *cobra.Command, id string, do func(ctx context.Context, daemon *client.Client, key string) (T, error)) (answer T, key string, err error) {
	if key, err = requestID(c, id); err != nil {
		return answer, key, err
	}
	answer, err = ask(p, c, func(ctx context.Context, daemon *client.Client) (T, error) { return do(ctx, daemon, key) })
	return answer, key, err
}

// receipted is the answer to a write.
type receipted interface {
	proto.Message
	GetReceipt() *accountantv1.Receipt
	GetReplayed() bool
}

// written says what became of a write, or how to find out.
func (p *program) written(what string, output *format, answer receipted, key string, err error) error {
	switch {
	case err != nil:
		return resumable(err, key)
	case output.value == formatJSON:
		return p.writeJSON(answer)
	}
	return p.writeReceipt(what, answer.GetReceipt(), answer.GetReplayed())
}
