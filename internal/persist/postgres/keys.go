// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// Keys returns the keys that sign heads, in the order in which the store was bound to them.
func (s *Store) Keys() (keys []rows.BoundKey, err error) {
	err = s.view(func(v *view) error {
		keys, err = v.keys()
		v.absent = true // of a newer key
		return err
	})
	return keys, err
}

// allKeys reads the rows of keys, which addKey adds to those before them.
const allKeys = "SELECT name, value FROM meta WHERE name LIKE '" + rows.KeyPrefix + "%' ORDER BY name"

func addKey(keys *[]rows.BoundKey) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		var name, stored []byte
		err := r.Scan(&name, &stored)
		if err == nil {
			*keys, err = rows.AppendKey(*keys, name, []byte(rows.KeyName(len(*keys))), stored)
		}
		return err
	}
}

func (v *view) keys() (keys []rows.BoundKey, err error) {
	err = v.query(query{allKeys, nil, addKey(&keys)})
	return keys, err
}

// BindKey makes a key the one that signs the store's heads from now on. Of daemons that do so at the
// same time, with different keys, one succeeds.
func (s *Store) BindKey(k rows.BoundKey) error {
	keys, err := s.Keys()
	if err != nil {
		return err
	}
	name := rows.KeyName(len(keys))
	var stored []byte
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		return completed(ctx, c, []query{{sql: begin},
			{sql: "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
				args: []any{name, sealMeta(name, k.Append(nil))}},
			{"SELECT value FROM meta WHERE name = $1", []any{name}, func(r pgx.Rows) error { return r.Scan(&stored) }},
			{sql: "COMMIT"}})
	})
	if err != nil {
		return err
	}
	found, err := unsealMeta(name, stored)
	if err == nil && !bytes.HasSuffix(found, k.Fingerprint[:]) {
		err = fmt.Errorf("%w: another daemon has bound the store to the signing key %x at the same time; all daemons "+
			"of a store sign with one key", ledger.ErrConflict, found[8:])
	}
	return err
}
