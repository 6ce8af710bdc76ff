// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// InTurn implements fleet.Shared. PostgreSQL gives a row to those who wait for it in the order in which they came, and
// the lock of a daemon that dies ends with its session.
func (s *Store) InTurn(t ledger.Turn) ([][]ledger.Hash, error) {
	o := newOperation()
	o.turn = &t
	if err := s.submit(o); err != nil {
		return nil, err
	}
	return o.hashes, nil
}

// inTurn are the operations that are decided in turn.
func (a *attempt) inTurn() (list []*operation) {
	for _, o := range a.ops {
		if o.turn != nil {
			list = append(list, o)
		}
	}
	return list
}

// behind reads what others have written to ledgers that are locked, since the turns' callers knew them. The heads
// are read before.
func (a *attempt) behind(books map[uint64]*booked) (parts map[string]*part, queries []query) {
	parts = map[string]*part{}
	var numbers, firsts []int64
	by := new(record.Reader)
	for _, o := range a.inTurn() {
		for i, name := range o.turn.Ledgers {
			known := o.turn.Known(i)
			if number, ok := a.names[name]; ok && known != (ledger.Head{}) {
				from := known.Position + 1
				numbers, firsts = append(numbers, int64(number)), append(firsts, int64(from))
				parts[name] = &part{from: from, chain: rows.Chain{Number: number, From: from, By: by}}
			}
		}
	}
	if len(numbers) == 0 {
		return parts, nil
	}
	return parts, []query{{readBehind, []any{numbers, firsts, newerRows}, func(r pgx.Rows) error {
		number, last, value, err := scanPack(r)
		if err != nil {
			return err
		}
		b := books[number]
		if b == nil || b.damage != nil {
			return nil
		}
		p := parts[b.name]
		p.to, p.chain.Head = b.head.At.Position, b.head.At
		b.damage = p.add(last, value)
		return nil
	}}}
}

// decideInTurn has those of the operations decided whose ledgers are locked now, and reads what they need.
func (a *attempt) decideInTurn(ctx context.Context, c *pgx.Conn, parts map[string]*part,
	books map[uint64]*booked) error {
	turns, read := a.inTurn(), heads{}
	if len(turns) == 0 {
		return nil
	}
	for _, o := range turns {
		for _, name := range o.turn.Ledgers {
			if b := a.books[name]; b != nil && b.damage == nil {
				read.add(name, b.head)
			}
		}
	}
	if err := a.seek(ctx, c, a.known.ahead(read)); err != nil {
		return err
	}
	n := newNeeds()
	a.refusals = map[*operation]error{}
	for _, o := range turns {
		o.batch = nil
		at, newer := make([]ledger.Head, len(o.turn.Ledgers)), make([][]ledger.Record, len(o.turn.Ledgers))
		var refused error
		for i, name := range o.turn.Ledgers {
			b := a.books[name]
			if b == nil {
				continue
			}
			refused = cmp.Or(refused, b.damage, a.losses.refused(name))
			at[i] = b.head.At
			if p := parts[name]; p != nil && p.to-p.from < uint64(o.turn.Limit) && p.whole() {
				newer[i] = p.out
			}
		}
		if a.refusals[o] = refused; refused == nil {
			o.batch = o.turn.Decide(at, newer)
			n.add(o.batch)
		}
	}
	if n.keys == 0 {
		return nil
	}
	a.commit.RoundTrips++
	if _, err := roundTrip(ctx, c, append(a.readRows(n, books), a.drawKeys(n.keys))); err != nil {
		return err
	}
	return a.readSingles(ctx, c, n)
}
