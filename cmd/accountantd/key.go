// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

const rotateKeyHelp = `Replace the key that signs heads: signing.key in DIR, or that of the daemons of
a database. No daemon may run on DIR, or be connected to the database.

A store is bound to its key, and a daemon does not start with another one, or
without it. If signing.key is the key that the store is bound to, or cannot be
read, it is moved to signing.key.retired-TIME and a new one is made. If it is
missing, a new one is made. If somebody has put another key there, the store is
bound to that one.

With --store the database is bound to the key in the file of --signing-key,
which is made if it is not there; the old key's file stays as it is. Stop all
daemons, run this once, copy the new file to all machines, and start the daemons
with it. One that is started with the old key is refused.

The fingerprint of each key stays in the store, with the time from which it
signs: "accountctl verify --data DIR" and "--backup FILE" list them. Heads that
an earlier key has signed still verify with its public key. Give the new public
key to whoever checks heads.

A fingerprint is what this prints:
  openssl pkey -in signing.key -pubout -outform DER | sha256sum`

// rotateKeyCommand parses the command line of a change of keys.
func rotateKeyCommand(env []string, rotate func(data string) error,
	rotateShared func(ctx context.Context, of storage) error) *cobra.Command {
	var data string
	var of storage
	c := &cobra.Command{
		Use:   "rotate-key (--data DIR | --store ADDRESS --signing-key FILE)",
		Short: "Replace the key that signs heads",
		Long:  rotateKeyHelp,
		Example: "  accountantd rotate-key --data ./data\n" +
			"  accountantd rotate-key --store postgres://accountant@localhost:5432/ledgers --signing-key new.key",
		RunE: func(c *cobra.Command, _ []string) error {
			if of.url != "" {
				return rotateShared(c.Context(), of)
			}
			return rotate(data)
		},
	}
	c.Flags().StringVar(&data, "data", "", "`directory` of the ledgers")
	of.addPlace(c.Flags())
	c.Flags().StringVar(&of.signingKey, "signing-key", "", "PEM `file` of the new key of a --store; made if missing")
	takesData(c, env, &data, "the data directory of a daemon that has stopped, or --store with the address of a "+
		"database")
	given := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := fromEnvironment(c.Flags(), env); err != nil {
			return err
		}
		switch {
		case of.url == "":
			if err := given(c, args); err != nil {
				return err
			}
		case data != "":
			return usageError{fmt.Errorf("--data %s and --store are both given; allowed: one of them", data)}
		case of.signingKey == "":
			return usageError{errors.New("--signing-key: missing; allowed: a file for the new key, with --store")}
		}
		return settings{storage: of}.checkStorage()
	}
	return c
}

// takesData has c take --data, which must be given, from the command line or the environment, and
// no arguments. allowed says what the directory may be.
func takesData(c *cobra.Command, env []string, data *string, allowed string) {
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("argument: %q; allowed: --data DIR (see --help)", args[0])}
		}
		return nil
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if err := fromEnvironment(c.Flags(), env); err != nil {
			return err
		}
		if *data == "" {
			return usageError{fmt.Errorf("--data: missing; allowed: %s", allowed)}
		}
		return nil
	}
}

// inUse returns the key that a store is bound to; zero if it is bound to none.
func inUse(keys []rows.BoundKey) rows.BoundKey {
	if len(keys) == 0 {
		return rows.BoundKey{}
	}
	return keys[len(keys)-1]
}

// wasReplaced says why a store is not bound to a key.
func wasReplaced(f signing.Fingerprint) string {
	return fmt.Sprintf("is the key %x, which signed heads of this store before it was replaced, perhaps because "+
		"somebody else has it", f)
}

// boundKey reads the key that a store is bound to. A store that is bound to none, which
// is new or restored, is bound to the key that is there, or to one that is made.
func boundKey(store kept, path string) (ed25519.PrivateKey, error) {
	keys, err := store.Keys()
	if err != nil {
		return nil, err
	}
	last := inUse(keys)
	none := last.Fingerprint == signing.Fingerprint{}
	read := signing.ReadKey
	if none {
		read = signing.Key
	}
	key, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("signing key: %s is missing; heads of this store are signed with the key %x: put it "+
			"back%s", path, last.Fingerprint, orRotate(store, path, ", or replace it by"))
	}
	if err != nil {
		return nil, err
	}
	found, err := signing.FingerprintOf(key)
	switch {
	case err != nil:
		return nil, err
	case none && rows.Replaced(keys, found):
		return nil, fmt.Errorf("signing key: %s %s; allowed: a later key of this store, or no file in its place, and "+
			"then a new key is made", path, wasReplaced(found))
	case none:
		return key, store.BindKey(rows.BoundKey{Fingerprint: found, Since: time.Now()})
	case found != last.Fingerprint:
		other := ", or, if the other one is to take its place, run"
		if rows.Replaced(keys, found) {
			other = ", or, since the other one was replaced before and does not come back, move it away and run"
		}
		return nil, fmt.Errorf("signing key: %s is the key %x; heads of this store are signed with %x: put that key "+
			"back%s", path, found, last.Fingerprint, orRotate(store, path, other))
	}
	return key, nil
}

// orRotate says how to change the key of a store in a directory. All daemons of a database have to
// change theirs together.
func orRotate(store kept, path, or string) string {
	if _, file := store.(*persist.Store); !file {
		return ", which --signing-key names: all daemons of a database sign with one key (\"accountantd rotate-key\" " +
			"replaces it for all of them)"
	}
	return fmt.Sprintf("%s \"accountantd rotate-key --data %s\"", or, filepath.Dir(path))
}

// names changes the names of files in a directory. Until they are synced, a power cut may
// take changes back.
type names struct {
	rename func(from, to string) error
	sync   func(dir string) error
}

var onDisk = names{os.Rename, durable.SyncDirectory}

// rotateKey replaces the key of the store in a data directory. Wherever it is cut off, it
// can be run again: the store is bound to a key once that is durably in its place.
func rotateKey(data string, now time.Time, names names, stdout io.Writer) (err error) {
	file := filepath.Join(data, persist.FileName)
	switch info, err := os.Stat(file); { // none is made
	case err != nil:
		return fmt.Errorf("--data: %w; allowed: a directory with ledgers", err)
	case info.Size() == 0:
		return fmt.Errorf("--data: %s is empty; allowed: a directory with ledgers: put the file back, or restore a "+
			"backup to another directory", file)
	}
	store, err := persist.Open(persist.Config{Path: file})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keys, err := store.Keys()
	if err != nil {
		return err
	}
	last := inUse(keys)
	path := filepath.Join(data, keyFile)
	key, err := signing.ReadKey(path)
	var unusable *endpoint.ConfigError
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &unusable) {
		return err
	}
	var found signing.Fingerprint
	if key != nil {
		if found, err = signing.FingerprintOf(key); err != nil {
			return err
		}
	}
	if key != nil && rows.Replaced(keys, found) {
		return fmt.Errorf("--data: %s %s; allowed: no file in its place, and then a new key is made, or the file of "+
			"a key that this store never had", path, wasReplaced(found))
	}
	bound := last.Fingerprint != signing.Fingerprint{}
	if key == nil || !bound || found == last.Fingerprint { // else it is the new one
		fresh := path + ".new" // written before the old one is moved: the disk may be full
		if key, err = signing.Key(fresh); err != nil {
			return err
		}
		if found, err = signing.FingerprintOf(key); err != nil {
			return err
		}
		if rows.Replaced(keys, found) || bound && found == last.Fingerprint {
			return fmt.Errorf("--data: %s, which an earlier run has left or somebody has put there, is a key that has "+
				"signed heads of this store; allowed: no such file, and then a new key is made", fresh)
		}
		if err := names.rename(path, path+".retired-"+now.UTC().Format("20060102T150405.000000000Z")); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := names.rename(fresh, path); err != nil {
			return err
		}
	}
	if err := names.sync(data); err != nil {
		return err
	}
	if err := store.BindKey(rows.BoundKey{Fingerprint: found, Since: now}); err != nil {
		return err
	}
	from := "no key"
	if bound {
		from = fmt.Sprintf("%x", last.Fingerprint)
	}
	_, err = fmt.Fprintf(stdout, "signing key of store %s: %x instead of %s\n", store.ID(), found, from)
	return err
}
