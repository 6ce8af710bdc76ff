package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

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

func keyName(n int) string { return fmt.Sprintf("key/%06d", n) }

func (v *view) keys() (keys []rows.BoundKey, err error) {
	err = v.query(query{"SELECT name, value FROM meta WHERE name LIKE 'key/%' ORDER BY name", nil,
		func(r pgx.Rows) error {
			var name string
			var stored []byte
			if err := r.Scan(&name, &stored); err != nil {
				return err
			}
			value, err := unsealMeta(name, stored)
			if err != nil {
				return err
			}
			if name != keyName(len(keys)) || len(value) != 8+sha256.Size {
				return rows.Damaged(rows.MetaBucket, []byte(name), "%d bytes; want those of key %d", len(value),
					len(keys))
			}
			keys = append(keys, rows.BoundKey{
				Fingerprint: [sha256.Size]byte(value[8:]),
				Since:       time.Unix(0, int64(binary.BigEndian.Uint64(value))).UTC(),
			})
			return nil
		}})
	return keys, err
}

// BindKey makes a key the one that signs the store's heads from now on. Of daemons that do so at the
// same time, with different keys, one succeeds.
func (s *Store) BindKey(k rows.BoundKey) error {
	keys, err := s.Keys()
	if err != nil {
		return err
	}
	name := keyName(len(keys))
	value := append(rows.NumberKey(uint64(k.Since.UnixNano())), k.Fingerprint[:]...)
	var stored []byte
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		return completed(ctx, c, []query{{sql: begin},
			{sql: "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
				args: []any{name, sealMeta(name, value)}},
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
