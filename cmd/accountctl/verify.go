package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/wire"
)

// verification is the flags of accountctl verify.
type verification struct {
	*program
	name                  string
	entries, backup, data string
	receipts, heads       []string
	key                   string
	kept                  []audit.Witness
}

func (p *program) verify() *cobra.Command {
	v := verification{program: p}
	c := &cobra.Command{
		Use:   "verify (NAME | --entries FILE | --backup FILE | --data DIR)",
		Short: "Check that ledgers are what their entries make of them",
		Long: `Go through every entry of a ledger, from the first on, and decide it again: the chain
of hashes, positions, each writer's numbers, digests, budgets and plans, reservations
and refunds, and that nothing follows a closing; then compare counts and balances with
those that are shown or stored. The first thing that is wrong is named.

  verify NAME             asks a daemon, through its API alone
  verify --entries FILE   what "entries NAME --raw --output jsonl" has written
  verify --backup FILE    what "backup FILE" has written: every ledger, and every row
  verify --data DIR       likewise the data directory of a daemon that has stopped

With --receipt and --signed-head, which may be repeated, it is compared with what was
kept: a receipt as "report --output json" prints it, a head as "head --output json"
does. Without those, whoever can write the store's file can make another history that
verifies.

Exit status: 1 if anything is wrong.`,
		Example: `  accountctl verify team/mnist --receipt last.json
  accountctl verify --entries entries.jsonl --signed-head mnist.head
  accountctl verify --backup ledgers.backup --signed-head mnist.head --public-key 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return names("NAME")(c, args)
		},
	}
	f := c.Flags()
	f.StringVar(&v.entries, "entries", "", "exported entries to verify; \"-\" is standard input")
	f.StringVar(&v.backup, "backup", "", "a backup to verify")
	f.StringVar(&v.data, "data", "", "a data directory to verify, of a daemon that has stopped")
	f.StringArrayVar(&v.receipts, "receipt", nil, "a `file` with a receipt that must be of the ledger; may be repeated")
	f.StringArrayVar(&v.heads, "signed-head", nil, "a `file` with a signed head that the ledger must have had; may be repeated")
	key := publicKeyFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		given := len(args)
		for _, name := range []string{"entries", "backup", "data"} {
			if f.Changed(name) {
				given++
			}
		}
		if given != 1 {
			return usage(c, "%d of NAME, --entries, --backup and --data are given; allowed: one", given)
		}
		if len(args) == 1 {
			v.name = args[0]
		}
		v.key = *key
		if err := v.readKept(c); err != nil {
			return err
		}
		found, err := v.run(c)
		var finding *audit.Finding
		switch {
		case err != nil && !errors.As(err, &finding):
			return err
		case finding != nil:
			found.Finding = finding.Message()
		}
		if output.value == formatJSON {
			err = errors.Join(p.writeJSON(found), err)
		} else if err == nil {
			_, err = fmt.Fprintln(p.out, verifiedText(v.name, found))
		}
		return err
	}
	return c
}

func verifiedText(name string, found *accountantv1.Verification) string {
	text := fmt.Sprintf("verified: %d ledgers, %d entries", found.GetLedgers(), found.GetEntries())
	if found.Position != nil {
		text = fmt.Sprintf("verified: ledger %s, %d entries, head %x", clean(name), found.GetEntries(), found.GetHeadHash())
	}
	if n := found.GetWitnesses(); n > 0 {
		text += fmt.Sprintf("; what was kept agrees (%d)", n)
	}
	return text
}

// readKept reads receipts and signed heads.
func (v *verification) readKept(c *cobra.Command) error {
	trusted, err := publicKey(c, v.key)
	if err != nil {
		return err
	}
	read := func(what, file string, parse func(source string, data []byte) (audit.Witness, error)) error {
		data, err := v.readFile(c.Context(), file)
		if err != nil {
			return err
		}
		w, err := parse(what+" "+fileName(file), data)
		if err != nil {
			return badFile(what+" "+fileName(file), err)
		}
		v.kept = append(v.kept, w)
		return nil
	}
	for _, file := range v.receipts {
		if err := read("receipt", file, audit.ReadReceipt); err != nil {
			return err
		}
	}
	for _, file := range v.heads {
		if err := read("signed head", file, func(source string, data []byte) (audit.Witness, error) {
			return audit.ReadSignedHead(source, data, trusted)
		}); err != nil {
			return err
		}
	}
	return nil
}

// run verifies; after a finding the result says how far it came.
func (v *verification) run(c *cobra.Command) (*accountantv1.Verification, error) {
	progress := v.bar("verify", entryText)
	defer progress.clear()
	var (
		r   *audit.Replay
		err error
	)
	switch {
	case v.name != "":
		err = v.with(c, func(daemon *client.Client) error {
			r, err = v.online(c.Context(), daemon, progress)
			return err
		})
	case c.Flags().Changed("entries"):
		if r, err = v.exported(c.Context(), progress); r != nil {
			v.name = r.Name()
		}
	default:
		path := v.backup
		if c.Flags().Changed("data") {
			path = filepath.Join(v.data, persist.FileName)
		}
		done, err := persist.Verify(c.Context(), persist.VerifyConfig{Path: path, Kept: v.kept, Progress: progress.set})
		return &accountantv1.Verification{Ledgers: done.Ledgers, Entries: done.Entries, Witnesses: uint64(done.Witnesses)}, err
	}
	found := &accountantv1.Verification{}
	if r != nil {
		head := r.Head()
		found = &accountantv1.Verification{Ledgers: 1, Entries: head.Position, Witnesses: uint64(r.Agreed()), Position: &head.Position, HeadHash: head.Hash[:]}
		if err == nil {
			err = audit.Missing(v.kept, func(ledger string) bool { return ledger == r.Name() })
		}
	}
	return found, err
}

// online verifies a ledger as far as it was when it was asked about.
func (v *verification) online(ctx context.Context, daemon *client.Client, progress *bar) (*audit.Replay, error) {
	answer, err := daemon.GetLedger(ctx, v.name)
	if err != nil {
		return nil, err
	}
	l := answer.GetLedger()
	var r *audit.Replay
	if err := v.served(ctx, daemon, l.GetPosition(), progress, func(genesis []byte) (*audit.Replay, error) {
		r, err = audit.Begin(genesis, v.kept)
		return r, err
	}); err != nil {
		return r, err
	}
	if r.Name() != v.name {
		return r, &audit.Finding{Ledger: v.name, What: "genesis", Expected: "that of the ledger", Found: "that of ledger " + r.Name()}
	}
	if err := r.ServedLedger(l); err != nil {
		return r, err
	}
	if err := r.End(); err != nil {
		return r, err
	}
	second := r.Again()
	if second == nil {
		return r, nil
	}
	if err := v.served(ctx, daemon, l.GetPosition(), progress, func([]byte) (*audit.Replay, error) { return second, nil }); err != nil {
		return r, err
	}
	return r, second.End()
}

// served goes through a ledger's entries up to a position.
func (v *verification) served(ctx context.Context, daemon *client.Client, end uint64, progress *bar, begin func(genesis []byte) (*audit.Replay, error)) error {
	var (
		r     *audit.Replay
		begun error
	)
	options := client.EntriesOptions{PageSize: wire.MaxPageSize, Raw: true, End: end, Genesis: func(raw []byte) { r, begun = begin(raw) }}
	for e, err := range daemon.Entries(ctx, v.name, options) {
		if err == nil {
			err = begun
		}
		if err != nil {
			return err
		}
		if r == nil || r.Head().Position == end {
			break
		}
		if len(e.GetRaw()) == 0 {
			return &audit.Finding{Ledger: v.name, Position: e.GetPosition(), What: "raw", Expected: "the stored bytes", Found: "none"}
		}
		record, err := r.NextRaw(e.GetRaw())
		if err == nil {
			err = r.Served(record, e)
		}
		if err != nil {
			return err
		}
		progress.set(r.Head().Position, end)
	}
	switch {
	case begun != nil:
		return begun
	case r == nil:
		return &audit.Finding{Ledger: v.name, What: "genesis", Expected: "the stored bytes", Found: "none"}
	case r.Head().Position != end:
		return &audit.Finding{Ledger: v.name, Position: r.Head().Position + 1, What: "position", Expected: fmt.Sprintf("entries up to %d, the head's", end), Found: "no more entries"}
	}
	return nil
}

// exported verifies a file of entries.
func (v *verification) exported(ctx context.Context, progress *bar) (*audit.Replay, error) {
	in := v.in
	if v.entries != "-" {
		f, err := os.Open(v.entries)
		if err != nil {
			return nil, badFile(v.entries, err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	r, err := audit.Export(in, v.kept, func(done uint64) error {
		progress.set(done, 0)
		return ctx.Err()
	})
	var line *audit.LineError
	if errors.As(err, &line) { // as wrong as a finding: not a mistake of whoever asks
		err = fmt.Errorf("%s: %v", fileName(v.entries), err)
	}
	return r, err
}
