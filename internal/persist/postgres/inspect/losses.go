// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// LostNote, followed by a ledger's name, is the name of the note that a daemon makes of a lost entry.
const LostNote = "lost/"

// NoteOf is the text of the note of a lost entry.
func NoteOf(lost ledger.Head) []byte { return fmt.Appendf(nil, "%d %x", lost.Position, lost.Hash) }

// ParseNote is the inverse of NoteOf.
func ParseNote(text []byte) (lost ledger.Head, err error) {
	var hash []byte
	if _, err = fmt.Sscanf(string(text), "%d %x", &lost.Position, &hash); err == nil && copy(lost.Hash[:],
		hash) < len(hash) {
		err = fmt.Errorf("a hash of %d bytes", len(hash))
	}
	if err != nil {
		return lost, fmt.Errorf("the note of a loss: %w", err)
	}
	return lost, nil
}

// Loss is a ledger of which the database has lost entries that were acknowledged.
type Loss struct {
	Ledger   string
	Position uint64 // of the newest that is known
}

// Lost returns those that nobody has reconciled since. The tables must be there.
func Lost(ctx context.Context, c *pgx.Conn) (lost []Loss, err error) {
	const ask = `SELECT m.name, m.value, l.number, h.value FROM meta m
		LEFT JOIN ledgers l ON l.name = convert_to(substr(m.name, $1), 'UTF8') LEFT JOIN heads h ON h.number = l.number
		WHERE starts_with(m.name, $2) ORDER BY m.name`
	found, err := c.Query(ctx, ask, len(NoteRow+LostNote)+1, NoteRow+LostNote)
	if err != nil {
		return nil, err
	}
	var name string
	var note, head []byte
	var number *int64
	_, err = pgx.ForEachRow(found, []any{&name, &note, &number, &head}, func() error {
		at, err := rows.Parse(rows.MetaBucket, []byte(name), note, ParseNote)
		if err != nil {
			return err
		}
		l := Loss{Ledger: strings.TrimPrefix(name, NoteRow+LostNote), Position: at.Position}
		if number != nil {
			if h, err := rows.UnsealHead(uint64(*number), head); err != nil || !h.Unreconciled {
				return err
			}
		}
		lost = append(lost, l)
		return nil
	})
	return lost, err
}

// Lossy names ledgers with the newest entry that each has lost, the first few of many.
func Lossy(lost []Loss) (text string) {
	const most = 5
	for i, l := range lost {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(lost)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s (up to entry %d)", l.Ledger, l.Position)
	}
	return text
}
