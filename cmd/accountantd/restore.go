// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/archive"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
)

const restoreHelp = `Make a data directory of FILE, which "accountctl backup" has written. DIR must
be empty, or not be there; no daemon runs on it. FILE is checked as "accountctl
verify --backup" does; one that is damaged is refused before anything is
written.

Or make it of an ARCHIVE, the directory or the bucket (s3://BUCKET/PREFIX) to
which a daemon with --archive has copied what was written: with --until as the
store was at that time, or shortly before.

Old entries that have left the file of the ledgers (accountantd --cold) stay where
they are, and the new ledgers read them there. If that is elsewhere now, say where
with --cold, and with --cold-key if they are encrypted. An archive has them itself.

What was charged after the backup was made is lost, and nobody can tell from it
what that was. So the store gets another identifier, and each ledger that is
open an entry that says where it comes from. That entry charges what was
reserved, ends the numbers of all earlier writers (what they have sent before is
still answered with its first receipt), and the ledger takes nothing more until

  accountctl ledger reconcile NAME (--charge FILE | --accept-loss REASON)

has said what was lost. Closed ledgers could lose nothing and stay as they are.
The key that signs heads is not in a backup: put the old signing.key into DIR,
or the first start makes another.

FILE may also be the accountant.db of a daemon that does not start because its
newest commit is lost or damaged, or of a store that was moved away, if the one
it was moved to is lost. To move ledgers without a gap, use "accountantd move".

With --store a database is filled, in which no daemon was ever started, instead
of a directory; TMPDIR must have room for the file. Either all of it is there
afterwards, or nothing.

The store appears when all of it is durable. A restore that is cut off leaves a
file beside which no daemon starts.`

// restoreCommand parses the command line of a restore.
func restoreCommand(env []string,
	restore func(ctx context.Context, from restored, to storage) error) *cobra.Command {
	var data, until, key string
	var outside cold.Place
	var to storage
	c := &cobra.Command{
		Use:   "restore (FILE | ARCHIVE) (--data DIR | --store ADDRESS)",
		Short: "Make a data directory, or fill a database, of a backup or an archive",
		Long:  restoreHelp,
		Example: "  accountantd restore ledgers.backup --data ./restored\n" +
			"  accountantd restore ledgers.backup --store postgres://accountant@db:5432/ledgers",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("arguments: %d; allowed: FILE, a backup (see --help)", len(args))}
			}
			return nil
		},
		PreRunE: func(c *cobra.Command, _ []string) error {
			if err := fromEnvironment(c.Flags(), env); err != nil {
				return err
			}
			switch {
			case data == "" && to.url == "":
				return usageError{fmt.Errorf("--data or --store: missing; allowed: a directory that is empty or not " +
					"there, or a database that has no store")}
			case data != "" && to.url != "":
				return usageError{fmt.Errorf("--data %s and --store are both given; allowed: one of them", data)}
			}
			if err := (&cooling{dir: outside.Dir, key: string(outside.Key)}).checkPlace(); err != nil {
				return err
			}
			return settings{storage: to}.checkStorage()
		},
		RunE: func(c *cobra.Command, args []string) error {
			from := restored{RestoreConfig: persist.RestoreConfig{Backup: args[0],
				Path: filepath.Join(data, persist.FileName), Cold: outside}, archive: archive.Is(args[0]),
				key: blobs.Key(key)}
			if from.archive && outside != (cold.Place{}) {
				return usageError{fmt.Errorf("--cold or --cold-key, and %s is an archive, which has all entries; "+
					"allowed: with a backup", args[0])}
			}
			if until != "" {
				var err error
				from.until, err = time.Parse(time.RFC3339, until)
				switch {
				case err != nil:
					return usageError{fmt.Errorf("--until: %q; allowed: a time such as 2026-11-01T00:00:00Z", until)}
				case !from.archive:
					return usageError{fmt.Errorf("--until %s, and %s is no archive; allowed: with an archive, which "+
						"has all earlier times", until, args[0])}
				}
			}
			return restore(c.Context(), from, to)
		},
	}
	c.Flags().StringVar(&until, "until", "", "`time` such as 2026-11-01T00:00:00Z: nothing of an archive that is newer")
	c.Flags().StringVar(&key, "archive-key", "", "`file` of the key with which the archive was encrypted")
	c.Flags().StringVar(&outside.Dir, "cold", "", "`directory`, or s3://BUCKET/PREFIX, where the entries are now that "+
		"have left the ledgers' file (default: where they were)")
	c.Flags().StringVar((*string)(&outside.Key), "cold-key", "", "`file` of the key with which they were encrypted "+
		"(default: where it was)")
	c.Flags().StringVar(&data, "data", "", "`directory` to be made, or empty")
	to.addPlace(c.Flags())
	return c
}

// restored is what a restore makes ledgers of.
type restored struct {
	persist.RestoreConfig
	archive bool      // Backup is one
	key     blobs.Key // of the archive
	until   time.Time
}

// restore makes a data directory, or fills a database, and says what was done.
func restore(ctx context.Context, from restored, to storage, stdout, stderr io.Writer) (err error) {
	c := from.RestoreConfig
	c.Progress = restoring("restore", stderr)
	if from.archive {
		if c.Backup, err = fromArchive(ctx, archive.Place{Dir: c.Backup, Key: from.key}, from.until,
			c.Progress); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(c.Backup))) }()
	}
	place := filepath.Dir(c.Path)
	var done persist.RestoredStore
	if to.url == "" {
		done, err = persist.Restore(ctx, c)
	} else {
		place = to.postgres().Name()
		done, err = restoreInto(ctx, c, to)
	}
	if errors.Is(err, ledger.ErrAway) && c.Cold == (cold.Place{}) {
		err = fmt.Errorf("%w, or say where they are now: --cold, --cold-key", err)
	}
	if err != nil {
		return err
	}
	when := ""
	if !done.Newest.IsZero() { // it has ledgers
		when = " as it was at " + done.Newest.UTC().Format(time.RFC3339) + " or later,"
	}
	_, err = fmt.Fprintf(stdout,
		"restored: %d ledgers, which need reconciling, and %d closed ones, of store %s%s to %s as store %s\n",
		done.Ledgers-done.Own, done.Closed, done.From, when, place, done.StoreID)
	return err
}

// restoreInto restores to a temporary directory, and fills a database from there.
func restoreInto(ctx context.Context, c persist.RestoreConfig, to storage) (done persist.RestoredStore, err error) {
	dir, err := os.MkdirTemp("", "accountant-restore-")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.Path = filepath.Join(dir, persist.FileName)
	if done, err = persist.Restore(ctx, c); err != nil {
		return done, err
	}
	_, _, err = postgres.Fill(ctx, to.postgres(), c.Path, func(n, of uint64) { c.Progress(persist.StepFill, n, of) })
	return done, err
}

// restoring returns what writes a line now and then that says how far a restore or a move is.
func restoring(what string, w io.Writer) func(step persist.RestoreStep, done, total uint64) {
	const every = 5 * time.Second
	last := time.Now()
	return func(step persist.RestoreStep, done, total uint64) {
		if now := time.Now(); now.Sub(last) >= every {
			last = now
			_, _ = fmt.Fprintf(w, "%s: %s: %d of %d\n", what, step, done, total)
		}
	}
}
