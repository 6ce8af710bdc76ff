// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	verifyfile "github.com/dpaccountant/accountant/internal/persist/verify"
)

// verification is the flags of accountctl verify.
type verification struct {
	*cli.Program
	name                  string
	entries, backup, data string
	store                 reach.Address
	receipts, heads       []string
	key                   string
	kept                  []audit.Witness
	keep, since           string
	cold                  cold.Place
	unjudged              string // why rights were not judged
}

func verify(p *cli.Program) *cobra.Command {
	v := verification{Program: p}
	c := &cobra.Command{
		Use:   "verify (NAME | --entries FILE | --backup FILE | --data DIR | --store ADDRESS)",
		Short: "Check that ledgers are what their entries make of them",
		Long: `Go through every entry of a ledger, from the first on, and decide it again: the chain
of hashes, positions, each writer's numbers, budgets and plans, reservations
and refunds, who was allowed to, and that nothing follows a closing; then compare counts
and balances with those that are shown or stored. The first thing that is wrong is named.

  verify NAME            asks a daemon, through its API alone
  verify --entries FILE  what "entries NAME --raw --output jsonl" has written
  verify --backup FILE   what "backup FILE" has written: every page and ledger
  verify --data DIR      the data directory of a daemon that has stopped
  verify --store ADDRESS a database, also while daemons serve it; TMPDIR must
                         have room for a copy

With --receipt and --signed-head, which may be repeated, it is compared with what was
kept: a receipt as "report --output json" prints it, a head as "head --output json"
does. Without those, whoever can write the store's file can make another history that
verifies.

With --keep a verified store, backup or database is kept in a small file: each ledger's
head, and a digest of how it stood. With --since only entries after that are read and
decided, and the result says how many were passed over. docs/audit.md says what this
finds and what only a whole verification does.

Exit status: 1 if anything is wrong.`,
		Example: `  accountctl verify team/mnist --receipt last.json
  accountctl verify --data data --since last.kept --keep this.kept
  accountctl verify --entries entries.jsonl --signed-head mnist.head
  accountctl verify --backup ledgers.backup --signed-head mnist.head --public-key 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.Arguments("NAME")(c, args)
		},
		ValidArgsFunction: p.CompleteLedger,
	}
	f := c.Flags()
	f.StringVar(&v.entries, "entries", "", "exported entries to verify; \"-\" is standard input")
	f.StringVar(&v.backup, "backup", "", "a backup to verify")
	f.StringVar(&v.data, "data", "", "a data directory to verify, of a daemon that has stopped")
	f.StringVar(&v.store.URL, "store", "", "a PostgreSQL database to verify: its `address`, "+
		"postgres://USER@HOST:PORT/DATABASE")
	f.StringVar(&v.store.PasswordFile, "store-password-file", "", "`file` with the database user's password")
	f.StringVar(&v.cold.Dir, "cold", "", "`directory`, or s3://BUCKET/PREFIX, where a backup's entries are now that "+
		"have left the ledgers' file (default: where they were)")
	f.StringVar((*string)(&v.cold.Key), "cold-key", "", "`file` of the key with which they were encrypted (default: "+
		"where it was)")
	f.StringVar(&v.keep, "keep", "", "a `file` to write, with what --since needs the next time")
	f.StringVar(&v.since, "since", "", "a `file` that --keep has written: only entries after that are read")
	f.StringArrayVar(&v.receipts, "receipt", nil, "a `file` with a receipt that must be of the ledger; may be repeated")
	f.StringArrayVar(&v.heads, "signed-head", nil,
		"a `file` with a signed head that the ledger must have had; may be repeated")
	key := publicKeyFlag(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		given := len(args)
		for _, name := range []string{"entries", "backup", "data", "store"} {
			if f.Changed(name) {
				given++
			}
		}
		if given != 1 {
			return cli.Usage(c, "%d of NAME, --entries, --backup, --data and --store are given; allowed: one", given)
		}
		for _, name := range []string{"keep", "since", "cold", "cold-key"} {
			if f.Changed(name) && (len(args) == 1 || f.Changed("entries")) {
				return cli.Usage(c, "--%s is given, and no whole store; allowed: with --backup, --data or --store",
					name)
			}
		}
		if (f.Changed("cold") || f.Changed("cold-key")) && !f.Changed("backup") {
			return cli.Usage(c, "--cold or --cold-key is given without --backup; allowed: with a backup, as the files "+
				"of a daemon say where they are")
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
		if output.Value == cli.FormatJSON {
			err = errors.Join(p.WriteJSON(found), err)
		} else if err == nil {
			_, err = fmt.Fprintln(p.Out, verifiedText(v.name, found))
		}
		return err
	}
	return c
}

func verifiedText(name string, found *accountantv1.Verification) string {
	text := fmt.Sprintf("verified: %d ledgers, %d entries", found.GetLedgers(), found.GetEntries())
	if found.Position != nil {
		text = fmt.Sprintf("verified: ledger %s, %d entries, head %x", cli.Clean(name),
			found.GetEntries(), found.GetHeadHash())
	}
	if n := found.GetPassedOver(); n > 0 {
		text += fmt.Sprintf(", %d of them verified before and not read again", n)
	}
	if n := found.GetWitnesses(); n > 0 {
		text += fmt.Sprintf("; what was kept agrees (%d)", n)
	}
	if why := found.GetRightsNotJudged(); why != "" {
		text += "\nwho was allowed to do what was not judged: " + cli.Clean(why)
	}
	if contents := found.GetContents(); len(contents) > 0 {
		text += fmt.Sprintf("\ncontents: SHA-256 %x over all ledgers and entries", contents)
	}
	if at := found.GetMoved(); at != nil {
		text += fmt.Sprintf("\nmoved away at %s", at.AsTime().Format(time.RFC3339))
	}
	for _, k := range found.GetSigningKeys() {
		since := k.GetSince().AsTime().Format(time.RFC3339)
		if len(k.GetFingerprint()) == 0 {
			text += fmt.Sprintf("\nrestored since %s, with a key of its own from its first start", since)
			continue
		}
		text += fmt.Sprintf("\nheads signed since %s with the key %x", since, k.GetFingerprint())
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
		data, err := v.ReadFile(c.Context(), file)
		if err != nil {
			return err
		}
		w, err := parse(what+" "+cli.FileName(file), data)
		if err != nil {
			return cli.BadFile(what+" "+cli.FileName(file), err)
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
	progress := v.ProgressOf("verify", entryText)
	defer progress.End()
	var (
		r   *audit.Replay
		err error
	)
	switch {
	case v.name != "":
		err = v.With(c, func(daemon *client.Client) error {
			r, err = v.online(c.Context(), daemon, progress)
			return err
		})
	case c.Flags().Changed("entries"):
		if r, err = v.exported(c.Context(), progress); r != nil {
			v.name = r.Name()
		}
		v.unjudged = "an export has no access policies"
	default:
		path := v.backup
		if c.Flags().Changed("data") {
			path = filepath.Join(v.data, persist.FileName)
		}
		if c.Flags().Changed("store") {
			if path, err = v.copied(c); err != nil {
				return nil, err
			}
			defer func() { _ = os.Remove(path) }() // a file of TMPDIR
		}
		done, err := v.whole(c.Context(), path, progress)
		found := &accountantv1.Verification{Ledgers: done.Ledgers, Entries: done.Entries,
			Witnesses: uint64(done.Witnesses), PassedOver: done.Passed}
		for _, k := range done.Keys {
			bound := &accountantv1.BoundKey{Since: timestamppb.New(k.Since)}
			if k.Fingerprint != [sha256.Size]byte{} {
				bound.Fingerprint = k.Fingerprint[:]
			}
			found.SigningKeys = append(found.SigningKeys, bound)
		}
		if err == nil {
			sum := done.Contents.Sum()
			found.Contents = sum[:]
		}
		if done.Left != nil {
			found.Moved = timestamppb.New(done.Left.At)
		}
		return found, err
	}
	found := &accountantv1.Verification{}
	if r != nil {
		head := r.Head()
		found = &accountantv1.Verification{Ledgers: 1, Entries: head.Position, Witnesses: uint64(r.Agreed()),
			Position: &head.Position, HeadHash: head.Hash[:], RightsNotJudged: v.unjudged}
		if err == nil {
			err = audit.Missing(v.kept, func(ledger string) bool { return ledger == r.Name() })
		}
	}
	return found, err
}

// whole verifies a file, from what was kept on, and keeps what it has found.
func (v *verification) whole(ctx context.Context, path string, progress *cli.Progress) (verifyfile.Result, error) {
	config := verifyfile.Config{Path: path, Kept: v.kept, Progress: progress.Set, Keep: v.keep != ""}
	var err error
	if config.Cold, err = persist.ColdOf(path, v.cold); err != nil {
		return verifyfile.Result{}, err
	}
	if v.since != "" {
		content, err := os.ReadFile(v.since)
		if err == nil {
			config.Since, err = verifyfile.ReadKept(content)
		}
		if err != nil {
			return verifyfile.Result{}, cli.BadFile(v.since, err)
		}
	}
	if err := replaceable(v.keep); err != nil {
		return verifyfile.Result{}, err
	}
	done, err := verifyfile.File(ctx, config)
	if errors.Is(err, ledger.ErrAway) && v.backup != "" && v.cold == (cold.Place{}) {
		err = fmt.Errorf("%w, or say where they are now: --cold, --cold-key", err)
	}
	if err != nil || v.keep == "" {
		return done, err
	}
	content, err := done.ToKeep.Append(nil)
	if err == nil {
		err = durable.WriteFile(v.keep, content)
	}
	return done, err
}

// replaceable refuses to have something else than what was kept before replaced, such as the store itself.
func replaceable(keep string) error {
	f, err := os.Open(keep)
	if errors.Is(err, fs.ErrNotExist) { // or there is no --keep
		return nil
	}
	if err != nil {
		return cli.BadFile(keep, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(len(verifyfile.KeptHead))))
	if err == nil && string(b) != verifyfile.KeptHead {
		err = errors.New("it is there, and not of --keep; allowed: a new file, or one that --keep has written")
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return cli.BadFile(keep, err)
	}
	return nil
}

// copied copies a database to a file.
func (v *verification) copied(c *cobra.Command) (path string, err error) {
	if err := checkAddress(c, v.store); err != nil {
		return "", err
	}
	if _, err := inspect.There(c.Context(), v.store); err != nil {
		return "", err
	}
	return postgres.Copy(c.Context(), postgres.Config{URL: v.store.URL, PasswordFile: v.store.PasswordFile})
}

func entryText(n uint64) string { return fmt.Sprintf("%d entries", n) }
