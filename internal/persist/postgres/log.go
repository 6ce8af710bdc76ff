// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// lane reads where a writer's lane stands; zero if it has written nothing.
func (v *view) lane(f found, w ledger.Writer) (l rows.Lane, err error) {
	if w.Single() {
		return v.singles(f).Lane(w)
	}
	const readLane = "SELECT value FROM lanes WHERE number = $1 AND name = $2 AND principal = $3"
	err = v.query(query{readLane, []any{int64(f.Number), []byte(w.Name), []byte(w.Principal)}, func(r pgx.Rows) error {
		var value []byte
		if err := r.Scan(&value); err != nil {
			return err
		}
		l, err = rows.Parse(rows.WritersBucket, rows.AppendWriter(nil, f.Number, w), value, rows.ParseLane)
		return err
	}})
	return l, err
}

// singles reads entries of request IDs.
func (v *view) singles(f found) rows.Singles {
	return rows.Singles{Log: v.log(f), Block: func(hash uint64) (rows.SinglesBlock, error) {
		blocks := rows.SinglesBlocks{Number: f.Number}
		err := v.query(query{readSingles, []any{[]int64{int64(f.Number)}, []int64{int64(hash)}},
			func(r pgx.Rows) error {
				_, k, err := scanSingles(r)
				blocks.List = append(blocks.List, k)
				return err
			}})
		if err != nil {
			return rows.SinglesBlock{}, err
		}
		return blocks.Block(hash)
	}}
}

func (v *view) log(f found) *rows.Log {
	return &rows.Log{Number: f.Number, Pack: func(position uint64) (packs.Pack, error) { return v.packOf(f, position) }}
}

// readPack reads the row of the log that has the entry at a position.
const readPack = "SELECT last, value FROM log WHERE number = $1 AND last >= $2 ORDER BY last LIMIT 1"

// packOf reads the pack of a ledger that has the entry at a position.
func (v *view) packOf(f found, position uint64) (p packs.Pack, err error) {
	err = v.query(query{readPack, []any{int64(f.Number), int64(position)}, func(r pgx.Rows) error {
		last, value, err := scanTwo(r)
		if err == nil {
			p, err = rows.ParsePack(f.Number, last, value)
		}
		return err
	}})
	if err == nil && len(p.Raws) == 0 {
		err = rows.Damaged(rows.PacksBucket, rows.BlockKey(f.Number, position), "missing")
	}
	return p, err
}

// Writer implements ledger.Store.
func (s *Store) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	err = s.view(func(v *view) error {
		f, err := v.ledger(name)
		if err != nil {
			return err
		}
		l, err := v.lane(f, w)
		sequence, position, v.absent = l.Sequence, l.Position, true // of what comes after it in the lane
		return err
	})
	return sequence, position, err
}

// RecordOf implements ledger.Store.
func (s *Store) RecordOf(name string, w ledger.Writer, sequence uint64) (out ledger.Record, err error) {
	err = s.view(func(v *view) error {
		f, err := v.ledger(name)
		if err != nil {
			return err
		}
		l, err := v.lane(f, w)
		if err != nil {
			return err
		}
		if sequence == 0 || sequence > l.Sequence {
			v.absent = true
			return notThere(name, w, sequence)
		}
		out, err = v.inLane(f, l, w).Record(sequence)
		return err
	})
	return out, err
}

// inLane reads a writer's entries. Of those in one pack it asks once.
func (v *view) inLane(f found, l rows.Lane, w ledger.Writer) *rows.LaneLog {
	return &rows.LaneLog{Log: v.log(f), Lane: l, Writer: w,
		Indexed: func(block uint64) (uint64, error) { return v.indexed(f, l, block) }}
}

// indexed reads the position of a lane's entry number block × rows.IndexEvery.
func (v *view) indexed(f found, l rows.Lane, block uint64) (position uint64, err error) {
	const readIndexed = "SELECT value FROM sequences WHERE number = $1 AND first = $2 AND block = $3"
	at := rows.SequenceKey(f.Number, l.First, block)
	there := false
	err = v.query(query{readIndexed, []any{int64(f.Number), int64(l.First), int64(block)}, func(r pgx.Rows) error {
		var value []byte
		there = true
		if err := r.Scan(&value); err != nil {
			return err
		}
		position, err = rows.Parse(rows.SequencesBucket, at, value, rows.ParseUint64)
		return err
	}})
	if err == nil && !there {
		err = rows.Damaged(rows.SequencesBucket, at, "missing")
	}
	return position, err
}

// Namesakes implements ledger.Store.
func (s *Store) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	const namesakes = "SELECT principal, value FROM lanes WHERE number = $1 AND name = $2 AND principal <> $3"
	err = s.view(func(v *view) error {
		out = nil
		f, err := v.ledger(name)
		if err != nil {
			return err
		}
		v.absent = true // of others that have this name
		if w.Single() {
			out, err = v.singles(f).Namesakes(w)
			return err
		}
		others := map[ledger.Writer]rows.Lane{}
		err = v.query(query{namesakes, []any{int64(f.Number), []byte(w.Name), []byte(w.Principal)},
			func(r pgx.Rows) error {
				var principal, value []byte
				if err := r.Scan(&principal, &value); err != nil {
					return err
				}
				other := ledger.Writer{Principal: string(principal), Name: w.Name}
				l, err := rows.Parse(rows.WritersBucket, rows.AppendWriter(nil, f.Number, other), value, rows.ParseLane)
				others[other] = l
				return err
			}})
		if err != nil {
			return err
		}
		for other, l := range others {
			r, err := v.inLane(f, l, other).Record(1)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// part reads a ledger's records from one position to another, checking the chain.
type part struct {
	chain    rows.Chain
	from, to uint64
	out      []ledger.Record
}

func (f found) part(from uint64, limit int) *part {
	return &part{from: from, to: from + min(uint64(limit)-1, f.At.Position-from), chain: rows.Chain{Number: f.Number,
		Genesis: record.GenesisHash(f.genesis), Head: f.At, From: from}}
}

// add takes the next row of the log.
func (p *part) add(last uint64, value []byte) error {
	pack, err := rows.ParsePack(p.chain.Number, last, value)
	if err != nil {
		return err
	}
	list, err := p.chain.Next(pack)
	for _, e := range list {
		if e.Entry.Position >= p.from && e.Entry.Position <= p.to {
			p.out = append(p.out, e.Record)
		}
	}
	return err
}

// whole reports whether all records are there.
func (p *part) whole() bool { return uint64(len(p.out)) == p.to-p.from+1 }

// Records implements ledger.Store, checking the chain.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	const readRange = `SELECT last, value FROM log WHERE number = $1 AND last >= $2 AND last <=
		(SELECT last FROM log WHERE number = $1 AND last >= $3 ORDER BY last LIMIT 1) ORDER BY last`
	err = s.view(func(v *view) error {
		out = nil
		f, err := v.ledger(name)
		if err != nil {
			return err
		}
		from := max(from, 1)
		if limit <= 0 || from > f.At.Position {
			v.absent = true
			return nil
		}
		p := f.part(from, limit)
		err = v.query(query{readRange, []any{int64(f.Number), int64(from), int64(p.to)}, func(r pgx.Rows) error {
			last, value, err := scanTwo(r)
			if err != nil {
				return err
			}
			return p.add(last, value)
		}})
		if err != nil {
			return err
		}
		if out = p.out; !p.whole() {
			return rows.Damaged(rows.PacksBucket, rows.BlockKey(f.Number, from+uint64(len(out))), "missing")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// newerRows is how many rows of a ledger's log Newer reads at most.
const newerRows = 256

const (
	// readNewer reads the rows of ledgers' logs from a position on, and readBehind those of ledgers that have come so
	// far.
	readNewer  = newerBegins + newerEnds
	readBehind = newerBegins + " JOIN heads h ON h.number = w.number AND h.position >= w.first" + newerEnds

	newerBegins = "SELECT p.number, p.last, p.value FROM unnest($1::bigint[], $2::bigint[]) AS w(number, first)"
	newerEnds   = ` JOIN LATERAL (SELECT number, last, value FROM log WHERE log.number = w.number AND log.last >= w.first
		ORDER BY last LIMIT $3) p ON true
	ORDER BY p.number, p.last`
)

// Newer implements fleet.Shared.
func (s *Store) Newer(names []string, from []uint64, limit int) (out [][]ledger.Record, err error) {
	err = s.view(func(v *view) error {
		out = make([][]ledger.Record, len(names))
		all, numbers, firsts := map[string]*part{}, []int64(nil), []int64(nil)
		index := map[uint64]*part{}
		positions := map[string]uint64{}
		by := new(record.Reader)
		for i, name := range names {
			positions[name] = max(from[i], 1)
		}
		if err := v.query(v.findAll(names, func(name string, f found) {
			first := positions[name]
			if f.At.Position < first || f.At.Position-first >= uint64(limit) {
				return
			}
			p := f.part(first, limit)
			p.chain.By = by
			all[name], index[f.Number] = p, p
			numbers, firsts = append(numbers, int64(f.Number)), append(firsts, int64(first))
		})); err != nil {
			return err
		}
		v.absent = len(all) < len(names)
		err := v.query(query{readNewer, []any{numbers, firsts, newerRows}, func(r pgx.Rows) error {
			number, last, value, err := scanPack(r)
			if err != nil {
				return err
			}
			return index[number].add(last, value)
		}})
		for i, name := range names {
			if p := all[name]; p != nil && p.whole() {
				out[i] = p.out
			}
		}
		return err
	})
	return out, err
}
