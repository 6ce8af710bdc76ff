package several

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/writes"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// answer is the daemon's answer to a write to several ledgers.
type answer interface {
	proto.Message
	GetReceipt() *accountantv1.SetReceipt
	GetReplayed() bool
}

// run makes one write, and says that it was done, or which ledgers have refused it.
func run[A answer](w *writes.Flags, c *cobra.Command, done string, say func(A),
	write func(ctx context.Context, daemon *client.Client, key string) (A, error)) error {
	a, err := writes.Once(w, c, write)
	asJSON := w.Output.Value == cli.FormatJSON
	switch {
	case err != nil:
		return Refused(w.Program, asJSON, err)
	case asJSON:
		return w.WriteJSON(a)
	}
	if r := a.GetReceipt(); r != nil {
		if a.GetReplayed() {
			done = "already " + done + " (replayed)"
		}
		w.Paragraph(fmt.Sprintf("%s: %d ledgers, %s, %s, position %d, %s, %s", done, len(r.GetMembers()),
			spelling.Contribution(r.GetContribution()), r.GetJournal(), r.GetPosition(), r.GetWriter(),
			spelling.Time(r.GetTime())))
	}
	if say != nil {
		say(a)
	}
	return nil
}

// Report charges several ledgers, or with check only says what would be done.
func Report(w *writes.Flags, c *cobra.Command, of Ledgers, by Contribution, charge *workloads.Charge,
	labels map[string]string, check bool) error {
	say := func(a *accountantv1.ReportSetResponse) {
		if a.GetReceipt() == nil {
			w.Paragraph(fmt.Sprintf("would be charged: %d ledgers; nothing was written", len(a.GetLedgers())))
		}
		writeEntries(w.Program, a.GetReceipt())
	}
	return run(w, c, "charged", say,
		func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ReportSetResponse, error) {
			if err := of.suits(ctx, w.Program, daemon, charge); err != nil {
				return nil, err
			}
			if !check {
				return of.Of(daemon).ReportOnce(ctx, key, by.value(), charge.Events, labels)
			}
			a, err := of.Of(daemon).CheckOnce(ctx, key, by.value(), charge.Events, labels)
			if err == nil && a.GetRefusal() != nil {
				return nil, wouldRefuse(a.GetRefusal())
			}
			return a, err
		})
}

// Reserve sets events aside in several ledgers.
func Reserve(w *writes.Flags, c *cobra.Command, of Ledgers, by Contribution, charge *workloads.Charge,
	lifetime time.Duration, labels map[string]string) error {
	say := func(a *accountantv1.ReserveSetResponse) {
		w.Paragraph(fmt.Sprintf("reservation %s, until %s", ReservationName(client.ReservationOf(a.GetReceipt())),
			spelling.Time(a.GetExpireTime())))
		writeEntries(w.Program, a.GetReceipt())
	}
	return run(w, c, "reserved", say,
		func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ReserveSetResponse, error) {
			if err := of.suits(ctx, w.Program, daemon, charge); err != nil {
				return nil, err
			}
			return of.Of(daemon).ReserveOnce(ctx, key, by.value(), charge.Events, lifetime, labels)
		})
}

// Commit charges a part of what was reserved in several ledgers.
func Commit(w *writes.Flags, c *cobra.Command, reservation *accountantv1.SetReservation, charge *workloads.Charge,
	labels map[string]string) error {
	return run(w, c, "committed",
		func(a *accountantv1.CommitSetResponse) { writeEntries(w.Program, a.GetReceipt()) },
		func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.CommitSetResponse, error) {
			return daemon.CommitSetOnce(ctx, key, reservation, charge.Events, labels)
		})
}

// Release gives back what is left of what was reserved in several ledgers.
func Release(w *writes.Flags, c *cobra.Command, reservation *accountantv1.SetReservation, reason string) error {
	return run(w, c, "released",
		func(a *accountantv1.ReleaseSetResponse) { writeEntries(w.Program, a.GetReceipt()) },
		func(ctx context.Context, daemon *client.Client, key string) (*accountantv1.ReleaseSetResponse, error) {
			return daemon.ReleaseSetOnce(ctx, key, reservation, reason)
		})
}

// maxListed is how many entries are listed for people; the JSON has all.
const maxListed = 31

// writeEntries lists where each ledger's entry is.
func writeEntries(p *cli.Program, r *accountantv1.SetReceipt) {
	members := r.GetMembers()
	for _, m := range members[:min(len(members), maxListed)] {
		_, _ = fmt.Fprintf(p.Out, "  %s, position %d\n", m.GetLedger(), m.GetPosition())
	}
	if n := len(members) - maxListed; n > 0 {
		_, _ = fmt.Fprintf(p.Out, "  and %d more (--output json lists all)\n", n)
	}
}
