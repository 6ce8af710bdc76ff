// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

const moveHelp = `Move all ledgers from one store to another. FROM and TO are each a data directory,
or the address of a PostgreSQL database. TO must be empty: a directory without
files, or a database on which no daemon was ever started.

Stop the daemon of a directory FROM first. The daemons of a database may run;
they refuse everything from then on. Everything in FROM is verified before
anything changes. Then FROM is marked: no daemon ever serves it again, and it
says where its ledgers are. Then they are written to TO and compared there.

The store keeps its identifier, entries, writers, reservations and the list of
signing keys, so receipts stay valid, nothing needs reconciling, and jobs that
try again go on as soon as a daemon serves TO at the same address. The key that
signs heads is not in the store: copy signing.key.

A move that was cut off, at any moment, is run again with the same two places.
To move from or to a database, TMPDIR must have room for all ledgers.

If TO was lost before a daemon was started on it, --again moves the ledgers from
FROM to another place. Do not use it if a daemon has served TO: what was charged
there would be forgotten.`

// movers are the places of a move.
type movers struct {
	from, to place
	again    bool
}

// place is a store from which ledgers move, or to which.
type place interface {
	fmt.Stringer
	// left returns where the ledgers of the store were moved to; nil if they were not.
	left(ctx context.Context) (*rows.Left, error)
	// free returns an error if something is there.
	free(ctx context.Context) error
	// prepare makes the tables or the directory in which arrive makes the store.
	prepare(ctx context.Context) error
	// leave verifies the store, and marks it as moved to another place.
	leave(ctx context.Context, to string, p progress) error
	// mark replaces that mark.
	mark(left rows.Left) error
	// file returns a file with the ledgers of a store that was marked, and what removes it if it was made.
	file(ctx context.Context) (path string, remove func() error, err error)
	// arrive makes the store of such a file, or finds that it is there.
	arrive(ctx context.Context, file string, p progress) (store string, c record.Contents, err error)
}

// progress is told how far a step is.
type progress func(step persist.RestoreStep, done, total uint64)

func (p progress) of(step persist.RestoreStep) func(done, total uint64) {
	return func(done, total uint64) { p(step, done, total) }
}

// moveCommand parses the command line of a move.
func moveCommand(env []string, move func(ctx context.Context, m movers) error) *cobra.Command {
	var m movers
	var passwords struct{ from, to string }
	c := &cobra.Command{
		Use:   "move FROM TO",
		Short: "Move all ledgers from one store to another",
		Long:  moveHelp,
		Example: "  accountantd move ./data postgres://accountant@db:5432/ledgers --to-password-file password\n" +
			"  accountantd move postgres://accountant@db:5432/ledgers /var/lib/accountant",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("arguments: %d; allowed: FROM and TO, each a data directory or an "+
					"address (see --help)", len(args))}
			}
			return nil
		},
		PreRunE: func(c *cobra.Command, _ []string) error { return fromEnvironment(c.Flags(), env) },
		RunE: func(c *cobra.Command, args []string) (err error) {
			if m.from, err = placeOf(args[0], "from-password-file", passwords.from); err != nil {
				return err
			}
			if m.to, err = placeOf(args[1], "to-password-file", passwords.to); err != nil {
				return err
			}
			return move(c.Context(), m)
		},
	}
	c.Flags().StringVar(&passwords.from, "from-password-file", "", "`file` with the password of FROM's user")
	c.Flags().StringVar(&passwords.to, "to-password-file", "", "`file` with the password of TO's user")
	c.Flags().BoolVar(&m.again, "again", false, "move to another place than before, on which no daemon was started")
	return c
}

func placeOf(argument, flag, passwordFile string) (place, error) {
	if strings.Contains(argument, "://") {
		s := storage{url: argument, passwordFile: passwordFile}
		return database{s.postgres()}, settings{storage: s}.checkStorage()
	}
	if passwordFile != "" {
		return nil, usageError{fmt.Errorf("--%s %s: %s is a directory; allowed: only for a database", flag,
			passwordFile, argument)}
	}
	path, err := filepath.Abs(argument)
	return directory(path), err
}

// move moves the ledgers, and says what was done.
func (m movers) move(ctx context.Context, stdout, stderr io.Writer) (err error) {
	p := progress(restoring("move", stderr))
	left, err := m.from.left(ctx)
	if err != nil {
		return err
	}
	switch {
	case left != nil && left.To == m.to.String() && (!left.Arrived || m.to.free(ctx) != nil):
	case left != nil && left.To == m.to.String() && !m.again:
		return fmt.Errorf("%v: all its ledgers were moved to %s, and nothing is there any more; allowed: a backup of "+
			"that store; or --again, if no daemon was ever started there", m.from, left.To)
	case left != nil && !m.again:
		return fmt.Errorf("%v: its ledgers were moved to %s, at %v; allowed: the same place, to complete a move that "+
			"was cut off; or --again, if no daemon was ever started there and what is there was removed", m.from,
			left.To, left.At)
	default:
		for _, step := range []func(context.Context) error{m.to.free, m.to.prepare} {
			if err := step(ctx); err != nil {
				return fmt.Errorf("nothing was moved: %w", err)
			}
		}
		if err := m.from.leave(ctx, m.to.String(), p); err != nil {
			return err
		}
	}
	file, remove, err := m.from.file(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	store, contents, err := m.to.arrive(ctx, file, p)
	if err == nil {
		err = m.from.mark(rows.Left{At: time.Now(), To: m.to.String(), Arrived: true})
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "moved: %d ledgers with %d entries of store %s from %v to %v; contents: SHA-256 %x\n",
		contents.Ledgers, contents.Entries, store, m.from, m.to, contents.Sum())
	return err
}

// directory is a data directory.
type directory string

func (d directory) String() string { return string(d) }

func (d directory) store() string { return filepath.Join(string(d), persist.FileName) }

func (d directory) left(context.Context) (*rows.Left, error) { return persist.Left(d.store()) }

func (d directory) free(context.Context) error {
	_, err := persist.CheckEmpty(string(d))
	return err
}

func (d directory) prepare(context.Context) error { return durable.MakeDirectory(string(d)) }

func (d directory) leave(ctx context.Context, to string, p progress) error {
	return persist.Leave(ctx, d.store(), to, p.of(persist.StepVerify))
}

func (d directory) mark(left rows.Left) error { return persist.MarkLeft(d.store(), left) }

func (d directory) file(context.Context) (string, func() error, error) {
	return d.store(), func() error { return nil }, nil
}

func (d directory) arrive(ctx context.Context, file string, p progress) (string, record.Contents, error) {
	done, err := persist.Arrive(ctx, file, d.store(), p)
	return done.StoreID, done.Contents, err
}

// database is a PostgreSQL database.
type database struct{ postgres.Config }

func (d database) String() string { return d.Name() }

func (d database) left(ctx context.Context) (*rows.Left, error) {
	f, err := inspect.There(ctx, d.Address())
	return f.Moved, err
}

func (d database) free(ctx context.Context) error {
	f, err := inspect.Look(ctx, d.Address())
	if err == nil && f.Store != "" {
		err = fmt.Errorf("store %v: %w, %s; allowed: a database on which no daemon was ever started", d,
			postgres.ErrNotEmpty, f.Store)
	}
	return err
}

func (d database) prepare(ctx context.Context) error { return postgres.MakeTables(ctx, d.Config) }

func (d database) leave(ctx context.Context, to string, p progress) error {
	file, remove, err := d.file(ctx)
	if err != nil {
		return err
	}
	_, err = verify.File(ctx, verify.Config{Path: file, Progress: p.of(persist.StepVerify)})
	if err := errors.Join(err, remove()); err != nil {
		return fmt.Errorf("nothing was moved: %w", err)
	}
	return d.mark(rows.Left{At: time.Now(), To: to})
}

func (d database) mark(left rows.Left) error { return postgres.Leave(d.Config, left) }

func (d database) file(ctx context.Context) (path string, remove func() error, err error) {
	path, err = postgres.Copy(ctx, d.Config)
	return path, func() error { return os.Remove(path) }, err
}

func (d database) arrive(ctx context.Context, file string, p progress) (string, record.Contents, error) {
	return postgres.Fill(ctx, d.Config, file, p.of(persist.StepFill))
}
