// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
)

// movedStore is a database whose ledgers were moved away, of which the final backup is made again.
type movedStore struct{ reach.Address }

func (m *movedStore) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.URL, "store", "", "with --final: make the final backup of this PostgreSQL database again, whose "+
		"ledgers were moved away; its `address`, postgres://USER@HOST:PORT/DATABASE")
	f.StringVar(&m.PasswordFile, "store-password-file", "", "`file` with the database user's password")
}

// check refuses flags that do not fit together.
func (m *movedStore) check(c *cobra.Command, final bool) error {
	switch {
	case m.URL == "" && m.PasswordFile != "":
		return cli.Usage(c, "--store: missing; --store-password-file is about a database")
	case m.URL == "":
		return nil
	case !final:
		return cli.UsageOf(c, "--store", "--store: only with --final; other backups are made by a daemon")
	case c.Flags().Changed("server"):
		return cli.UsageOf(c, "--store", "--server and --store are both given; allowed: one of them: with --store the "+
			"database is asked, and no daemon")
	}
	return checkAddress(c, m.Address)
}

// open opens the store. It looks first, as opening makes a store in a database that has none, and brings the tables of
// an earlier version up to date, which daemons may be using.
func (m *movedStore) open(ctx context.Context) (*postgres.Store, error) {
	found, err := inspect.Look(ctx, m.Address)
	if err != nil {
		return nil, err
	}
	if found.Readable() && found.Moved == nil {
		return nil, fmt.Errorf("store %s: %w", m.Name(), postgres.ErrNotMoved)
	}
	return postgres.OpenMoved(postgres.Config{URL: m.URL, PasswordFile: m.PasswordFile})
}

// fetch makes the backup from the database. It is of type fetch.
func (m *movedStore) fetch(ctx context.Context, w io.Writer,
	progress func(done, total uint64)) (end *accountantv1.BackupResponse_End, err error) {
	store, err := m.open(ctx)
	if errors.Is(err, postgres.ErrNotMoved) {
		return nil, fmt.Errorf("%w; allowed: --store with a database whose ledgers were moved away. To move these, "+
			"ask a daemon: without --store", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	content, size, err := store.Final()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	sum := sha256.New()
	written, err := io.Copy(io.MultiWriter(w, sum), content)
	if err != nil {
		return nil, err
	}
	progress(uint64(written), uint64(size))
	return &accountantv1.BackupResponse_End{Size: uint64(written), Sha256: sum.Sum(nil)}, nil
}
