// SPDX-License-Identifier: Apache-2.0

// Package sweep verifies what a database has of its ledgers, a little at a time, while daemons charge them: that each
// row is as it was written, that the entries of a ledger are a chain from its genesis to its head, that all the rest of
// a ledger agrees with them, and that no row is missing by which an earlier charge is found again.
//
// It reads only, in short transactions that each see one state, so nobody waits for it. What it does not find: a row
// that belongs to nothing, which nobody reads; and a row of an earlier state that fits to all others, which is an
// earlier state of the whole ledger (receipts and signed heads tell of that).
//
// It is a package of its own because it only reads, beside daemons of any version, and shares no state with the
// store.
package sweep

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// sliceBytes is how many bytes of a log are read in one transaction, and sliceRows how many packs at most.
const (
	sliceBytes = 1 << 20
	sliceRows  = 256
)

// Sweeper reads a database.
type Sweeper struct {
	// Load reads all that is kept of a ledger but its log, compares it with the head, and ends the transaction.
	Load func(ctx context.Context, c *pgx.Conn, name string) error
}

// Place is how far a sweep has come.
type Place struct {
	number uint64      // of the ledger at hand; all with smaller numbers were read
	at     ledger.Head // up to here the log of the ledger at hand was read; the zero Head before it was begun
	ended  bool        // all of the ledger at hand was read
	again  bool        // the ledger at hand is read for the second time, as something did not fit
}

// placeSize is 8 bytes of number, 1 of how the ledger is read, 8 of position and the hash.
const placeSize = 8 + 1 + 8 + len(ledger.Hash{})

// How the ledger at hand is read.
const (
	isRead = iota
	wasRead
	isReadAgain
)

// Bytes is the place as it is kept between two runs.
func (p Place) Bytes() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, placeSize), p.number)
	how := byte(isRead)
	switch {
	case p.ended:
		how = wasRead
	case p.again:
		how = isReadAgain
	}
	return append(binary.BigEndian.AppendUint64(append(b, how), p.at.Position), p.at.Hash[:]...)
}

// Parse reads a place. Whatever is none is the beginning.
func Parse(b []byte) (p Place) {
	if len(b) != placeSize {
		return p
	}
	p.number, p.ended, p.again = binary.BigEndian.Uint64(b), b[8] == wasRead, b[8] == isReadAgain
	p.at = ledger.Head{Position: binary.BigEndian.Uint64(b[9:]), Hash: ledger.Hash(b[17:])}
	return p
}

// Step reads on from a place, about a MiB at most, and returns the place after that, or done at the end. If a ledger is
// damaged it returns ErrDamaged with the ledger's name, and the place after that ledger.
//
// What was read before this step may have been lost in a failover since, and what is there now need not fit to it. So a
// ledger in which something does not fit is read a second time, from its beginning, before it is called damaged.
func (s Sweeper) Step(ctx context.Context, c *pgx.Conn, from Place) (next Place, done bool, read int64, err error) {
	next = from
	if from.number == 0 || from.ended {
		if next, done, err = s.next(ctx, c, from.number); err != nil || done {
			return next, done, 0, err
		}
	}
	l, err := s.ledger(ctx, c, next.number)
	if err == nil && next.at == (ledger.Head{}) {
		err = s.Load(ctx, c, l.name)
	}
	if err == nil {
		next, read, err = s.slice(ctx, c, l, next)
	}
	switch {
	case err == nil:
		return next, false, read, nil
	case !errors.Is(err, ledger.ErrDamaged):
		return from, false, read, err
	case from.at != (ledger.Head{}) && !from.ended && !from.again:
		return Place{number: next.number, again: true}, false, read, nil
	}
	return Place{number: next.number, ended: true}, false, read, fmt.Errorf("ledger %s: %w", l.name, err)
}

// next finds the ledger with the next number. One of whose rows all but one are lost is found, too.
func (s Sweeper) next(ctx context.Context, c *pgx.Conn, after uint64) (next Place, done bool, err error) {
	const find = `SELECT least((SELECT min(number) FROM ledgers WHERE number > $1),
		(SELECT min(number) FROM heads WHERE number > $1), (SELECT min(number) FROM tail WHERE number > $1),
		(SELECT min(number) FROM packs WHERE number > $1))`
	var number *int64
	if err := c.QueryRow(ctx, find, int64(after)).Scan(&number); err != nil || number == nil {
		return next, err == nil, err
	}
	return Place{number: uint64(*number)}, false, nil
}

// named is a ledger that is there.
type named struct {
	name    string
	number  uint64
	genesis ledger.Hash
}

func (s Sweeper) ledger(ctx context.Context, c *pgx.Conn, number uint64) (l named, err error) {
	l = named{number: number, name: fmt.Sprintf("number %d", number)}
	key := rows.NumberKey(number)
	var name, genesis []byte
	err = c.QueryRow(ctx, "SELECT name, genesis FROM ledgers WHERE number = $1", int64(number)).Scan(&name, &genesis)
	if errors.Is(err, pgx.ErrNoRows) {
		return l, rows.Damaged(rows.LedgersBucket, key, "missing: it has a head or entries")
	}
	if err != nil {
		return l, err
	}
	l.name = string(name)
	raw, err := rows.Unseal(rows.GenesesBucket, key, genesis)
	l.genesis = record.GenesisHash(raw)
	return l, err
}

// slice reads on in a ledger's log, in a transaction that sees one state.
func (s Sweeper) slice(ctx context.Context, c *pgx.Conn, l named, from Place) (next Place, read int64, err error) {
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return from, 0, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it has only read
	head, err := readHead(ctx, tx, l.number)
	if err != nil {
		return from, 0, err
	}
	chain := rows.Chain{Number: l.number, Genesis: l.genesis, Head: head, From: 1, After: from.at}
	if chain.After == (ledger.Head{}) {
		chain.After.Hash = l.genesis
	}
	const packsOf = `SELECT last, value FROM (
			SELECT last, value, sum(octet_length(value)) OVER (ORDER BY last) - octet_length(value) AS before
			FROM (SELECT last, value FROM log WHERE number = $1 AND last > $2 ORDER BY last LIMIT $3) p) q
		WHERE before < $4::bigint ORDER BY last`
	found, err := tx.Query(ctx, packsOf, int64(l.number), int64(from.at.Position), sliceRows, sliceBytes)
	if err != nil {
		return from, 0, err
	}
	lanes := lanes{}
	var last int64
	var value []byte
	_, err = pgx.ForEachRow(found, []any{&last, &value}, func() error {
		read += int64(len(value))
		p, err := rows.ParsePack(l.number, uint64(last), value)
		if err != nil {
			return err
		}
		if n := from.at.Position + 1 - p.First; p.First <= from.at.Position { // it was merged since the slice before
			p = p.Without(int(n))
		}
		list, err := chain.Next(p)
		lanes.add(list)
		return err
	})
	switch {
	case err != nil:
		return from, read, err
	case chain.After == from.at && head.Position > from.at.Position, chain.After.Position == 0 && head.Position > 0:
		return from, read, rows.Damaged(rows.PacksBucket, rows.BlockKey(l.number, chain.After.Position+1), "missing")
	case chain.After.Position > head.Position:
		return from, read, rows.Damaged(rows.HeadsBucket, rows.NumberKey(l.number), "position %d, the log has %d",
			head.Position, chain.After.Position)
	}
	n, err := s.check(ctx, tx, l.number, lanes)
	next = Place{number: l.number, at: chain.After, ended: chain.After.Position == head.Position, again: from.again}
	return next, read + n, err
}

func readHead(ctx context.Context, tx pgx.Tx, number uint64) (ledger.Head, error) {
	var position int64
	var value []byte
	const question = "SELECT position, value FROM heads WHERE number = $1"
	err := tx.QueryRow(ctx, question, int64(number)).Scan(&position, &value)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Head{}, rows.Damaged(rows.HeadsBucket, rows.NumberKey(number), "missing")
	}
	if err != nil {
		return ledger.Head{}, err
	}
	h, err := rows.UnsealHead(number, value)
	if err != nil {
		return ledger.Head{}, err
	}
	return h.At, h.Agrees(position)
}
