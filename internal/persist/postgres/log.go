package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// lane reads where a writer's lane stands; zero if it has written nothing.
func (v *view) lane(f found, w ledger.Writer) (l rows.Lane, err error) {
	const readLane = "SELECT value FROM lanes WHERE number = $1 AND name = $2 AND principal = $3"
	err = v.query(query{readLane, []any{int64(f.Number), []byte(w.Name), []byte(w.Principal)}, func(r pgx.Rows) error {
		var value []byte
		if err := r.Scan(&value); err != nil {
			return err
		}
		l, err = parse(rows.WritersBucket, rows.AppendWriter(nil, f.Number, w), value, rows.ParseLane)
		return err
	}})
	return l, err
}

// byKey reads the entry with a log key, and gives the entries of the same row for the next steps of
// a walk.
func (v *view) byKey(f found, key uint64) (e packs.Linked, beside []packs.Linked, err error) {
	const readByKey = "SELECT last, value FROM packs WHERE number = $1 AND key >= $2 ORDER BY key LIMIT 1"
	err = v.query(query{readByKey, []any{int64(f.Number), int64(key)}, func(r pgx.Rows) error {
		last, value, err := scanTwo(r)
		if err != nil {
			return err
		}
		p, err := packs.Parse(f.Number, last, value)
		if err != nil {
			return err
		}
		beside, err = p.Entries()
		return err
	}})
	if err != nil {
		return packs.Linked{}, nil, err
	}
	e, ok := withKey(beside, key)
	if !ok {
		return packs.Linked{}, nil, rows.Damaged(rows.LogBucket, rows.NumberKey(key),
			"missing in ledger number %d", f.Number)
	}
	return e, beside, nil
}

func withKey(list []packs.Linked, key uint64) (packs.Linked, bool) {
	for _, e := range list {
		if e.Key == key {
			return e, true
		}
	}
	return packs.Linked{}, false
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
		out, err = l.Record(sequence, v.inLane(f, l, w))
		return err
	})
	return out, err
}

// inLane reads a writer's entries. Of those in one row it asks once.
func (v *view) inLane(f found, l rows.Lane, w ledger.Writer) rows.LaneLog {
	var beside []packs.Linked
	return rows.LaneLog{Writer: w, Every: sequenceEvery,
		Indexed: func(block uint64) (uint64, error) { return v.indexed(l.ID, block) },
		Entry: func(key uint64) (r ledger.Record, before uint64, err error) {
			e, ok := withKey(beside, key)
			if !ok {
				e, beside, err = v.byKey(f, key)
			}
			return e.Record, e.OfWriter, err
		}}
}

// indexed reads the log key of a lane's entry number block × sequenceEvery.
func (v *view) indexed(lane, block uint64) (key uint64, err error) {
	const readIndexed = "SELECT value FROM sequences WHERE lane = $1 AND block = $2"
	at := rows.BlockKey(lane, block)
	there := false
	err = v.query(query{readIndexed, []any{int64(lane), int64(block)}, func(r pgx.Rows) error {
		var value []byte
		there = true
		if err := r.Scan(&value); err != nil {
			return err
		}
		key, err = parse(rows.SequencesBucket, at, value, rows.ParseUint64)
		return err
	}})
	if err == nil && !there {
		err = rows.Damaged(rows.SequencesBucket, at, "missing")
	}
	return key, err
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
		others := map[ledger.Writer]rows.Lane{}
		err = v.query(query{namesakes, []any{int64(f.Number), []byte(w.Name), []byte(w.Principal)},
			func(r pgx.Rows) error {
				var principal, value []byte
				if err := r.Scan(&principal, &value); err != nil {
					return err
				}
				other := ledger.Writer{Principal: string(principal), Name: w.Name}
				l, err := parse(rows.WritersBucket, rows.AppendWriter(nil, f.Number, other), value, rows.ParseLane)
				others[other] = l
				return err
			}})
		if err != nil {
			return err
		}
		for other, l := range others {
			r, err := l.Record(1, v.inLane(f, l, other))
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

// Records implements ledger.Store, checking the chain.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	const readRange = `SELECT last, value FROM packs WHERE number = $1 AND last >= $2 AND last <=
		(SELECT last FROM packs WHERE number = $1 AND last >= $3 ORDER BY last LIMIT 1) ORDER BY last`
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
		to := from + min(uint64(limit)-1, f.At.Position-from)
		chain := packs.Chain{Number: f.Number, Genesis: record.GenesisHash(f.genesis), Head: f.At, From: from}
		err = v.query(query{readRange, []any{int64(f.Number), int64(from), int64(to)}, func(r pgx.Rows) error {
			last, value, err := scanTwo(r)
			if err != nil {
				return err
			}
			list, err := chain.Next(last, value)
			for _, e := range list {
				if e.Entry.Position >= from && e.Entry.Position <= to {
					out = append(out, e.Record)
				}
			}
			return err
		}})
		if err != nil {
			return err
		}
		if uint64(len(out)) != to-from+1 {
			return rows.Damaged(rows.LogBucket, rows.BlockKey(f.Number, from+uint64(len(out))), "missing")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
