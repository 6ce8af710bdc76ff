// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

const noteRow = inspect.NoteRow

// Note keeps a text about the store as a whole, for all its daemons, in the place of the one before. It is no part of
// the ledgers, and no backup has it.
func (s *Store) Note(name string, text []byte) error {
	row := noteRow + name
	return s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		return completed(ctx, c, []query{{sql: begin}, setMeta(row, text), {sql: "COMMIT"}})
	})
}

// setMeta keeps a value about the store as a whole, in the place of the one before.
func setMeta(name string, value []byte) query {
	return query{sql: "INSERT INTO meta (name, value) VALUES ($1, $2) " +
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value", args: []any{name, sealMeta(name, value)}}
}

// Noted returns what Note has kept, nil if there is nothing.
func (s *Store) Noted(name string) ([]byte, error) {
	row := noteRow + name
	var stored []byte
	err := s.attempt(func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, "SELECT value FROM meta WHERE name = $1", row).Scan(&stored)
		if errors.Is(err, pgx.ErrNoRows) {
			stored, err = nil, nil
		}
		return err
	})
	if err != nil || stored == nil {
		return nil, err
	}
	return unsealMeta(row, stored)
}
