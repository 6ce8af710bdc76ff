// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/archive"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/spans"
	"github.com/dpaccountant/accountant/internal/server/upkeep"
)

// storage says where the ledgers are and which key signs their heads.
type storage struct {
	url, passwordFile, signingKey string
	requireStandby                bool
}

func (s *storage) addFlags(f *pflag.FlagSet) {
	s.addPlace(f)
	f.BoolVar(&s.requireStandby, "require-standby", false, "refuse a --store whose primary does not wait for a "+
		"standby: at the start, and each charge later")
	f.StringVar(&s.signingKey, "signing-key", "", "PEM `file` of the key that signs heads, the same for all daemons "+
		"of a --store; made where a new store has none (default: signing.key in --data)")
}

// addPlace adds the flags that say where the database is.
func (s *storage) addPlace(f *pflag.FlagSet) {
	f.StringVar(&s.url, "store", "", "`address` of a PostgreSQL database, postgres://USER@HOST:PORT/DATABASE, where "+
		"any number of daemons serve the same ledgers (default: accountant.db in --data)")
	f.StringVar(&s.passwordFile, "store-password-file", "", "`file` with the database user's password; read again for "+
		"each connection")
}

// postgres is how the database is reached.
func (s *storage) postgres() postgres.Config {
	return postgres.Config{URL: s.url, PasswordFile: s.passwordFile}
}

// kept is a store that a daemon serves.
type kept interface {
	ledger.Store
	// Keys returns the keys that the store was bound to, and BindKey binds it to another one.
	Keys() ([]rows.BoundKey, error)
	BindKey(rows.BoundKey) error
}

// checkStorage refuses settings that do not fit together.
func (s settings) checkStorage() error {
	wrong := func(field, value, allowed string) error {
		return &endpoint.ConfigError{Field: field, Value: value, Allowed: allowed}
	}
	scheme, _, ok := strings.Cut(s.storage.url, "://")
	switch {
	case s.storage.url == "" && s.storage.passwordFile != "":
		return wrong("store-password-file", s.storage.passwordFile, "only with --store")
	case s.storage.url == "" && s.storage.signingKey != "":
		return wrong("signing-key", s.storage.signingKey, "only with --store: in a data directory it is signing.key")
	case s.storage.url == "" && s.storage.requireStandby:
		return wrong("require-standby", "true", "only with --store")
	case s.storage.url == "":
		return nil
	case !ok || scheme != "postgres" && scheme != "postgresql":
		return wrong("store", "an address of another form", "postgres://USER@HOST:PORT/DATABASE")
	case s.init:
		return wrong("init", "true", "only without --store: a new store is made in a database that has none")
	}
	return nil
}

// openStore opens the store that the daemon serves. failed is closed when the process should exit;
// failure then says why. config is as far as it is known before there is a store.
func (s settings) openStore(ctx context.Context, config server.Config, m *server.Metrics, r *spans.Recorder,
	copied *archive.Archive) (
	store kept, place upkeep.Place, failed <-chan struct{}, failure func() error, err error) {
	w := watchMerging(m)
	if s.storage.url == "" {
		c := persist.Config{
			Path: filepath.Join(s.data, persist.FileName), Traces: []string{keyFile, socketFile}, Init: s.init,
			Observe: func(c persist.Commit) {
				m.Commit(c.Operations, c.Entries, c.Bytes, c.Duration)
				r.Commit(c.Duration, c.Sync)
			},
			Merged: w.tried, Stop: ctx,
		}
		if copied != nil {
			c.Changing = copied.Changed
		}
		file, err := persist.Open(c)
		if err != nil {
			return nil, upkeep.Place{}, nil, nil, err
		}
		return file, inFile(w), file.Failed(), file.Failure, nil
	}
	if err := os.MkdirAll(s.data, 0o700); err != nil { // of the socket, and of a signing key that is made
		return nil, upkeep.Place{}, nil, nil, err
	}
	file := filepath.Join(s.data, persist.FileName)
	if _, err := os.Stat(file); err == nil {
		return nil, upkeep.Place{}, nil, nil, &endpoint.ConfigError{Field: "data",
			Value:   fmt.Sprintf("%s has ledgers of its own, which a daemon with --store would not serve", file),
			Allowed: "another directory"}
	}
	o := observer(m, r)
	o.Merged = w.tried
	database, err := awaitDatabase(ctx, config, o.Away, func() (*postgres.Store, error) { return s.openDatabase(o) })
	if err != nil {
		return nil, upkeep.Place{}, nil, nil, err
	}
	m.AddAsked(newReplication(database))
	return database, inDatabase(database, w), nil, func() error { return nil }, nil
}

// servedFile is the file in --data with the identifier of the store in a database that a daemon served from there.
const servedFile = "served-store"

// openDatabase opens the store in a database. Where a daemon with this --data has served a store, it must be the same
// one: an address that leads elsewhere by mistake, or a database that was emptied, would begin anew with nothing
// charged.
func (s settings) openDatabase(o postgres.Observer) (*postgres.Store, error) {
	file := filepath.Join(s.data, servedFile)
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	served := strings.TrimSpace(string(content))
	if _, err := uuid.Parse(served); err != nil && served != "" {
		return nil, &endpoint.ConfigError{Field: "data", Value: fmt.Sprintf("%s has %q", file, served),
			Allowed: "the identifier of the store that was served with this directory, as the daemon's first line of " +
				"output showed it"}
	}
	config := s.storage.postgres()
	config.ID, config.Observer = served, o
	database, err := postgres.Open(config)
	if errors.Is(err, postgres.ErrOtherStore) {
		return nil, &endpoint.ConfigError{Field: "data", Value: fmt.Sprintf("a daemon has served store %s with this "+
			"directory, as %s says, and %s does not have it", served, file, config.Address().Name()),
			Allowed: "the address of the database that has it, or the database restored from a backup; to serve " +
				"other ledgers, another directory"}
	}
	if err != nil {
		return nil, err
	}
	err = promised(database, s.storage.requireStandby)
	if err == nil && served == "" {
		err = durable.WriteFile(file, []byte(database.ID()+"\n"))
	}
	if err != nil {
		return nil, errors.Join(err, database.Close())
	}
	return database, nil
}

// keyPath is the file of the key that signs heads.
func (s settings) keyPath() string {
	if s.storage.signingKey != "" {
		return s.storage.signingKey
	}
	return filepath.Join(s.data, keyFile)
}
