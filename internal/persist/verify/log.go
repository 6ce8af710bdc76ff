// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/rights"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// followed is a ledger as far as its log was gone through.
type followed struct {
	*audit.Replay
	number     uint64
	raw        []byte    // of the genesis
	row        rows.Head // of its head, once the rows are compared
	since      uint64    // the position up to which the ledger was verified before
	last       uint64    // newest log key; 0 before the first entry
	newest     rows.Lane // of the newest entry
	lanes      map[audit.Lane]rows.Lane
	ofRequests []rows.Single // of request IDs

	amended []uint64 // positions of entries that amend the ledger
	marks   marks
	rights  *rights.Ledger

	keys, sum, highest uint64    // of the log keys: their number, sum (modulo 2^64) and the largest
	taken              time.Time // of the newest record
}

// survey finds all ledgers, and which rows of the tail each of them has.
func (v *verifier) survey() error {
	v.tail = map[uint64][]uint64{}
	v.names = map[string]uint64{}
	v.sets = sets{names: v.names, said: map[setAt][]part{}, reserved: map[setAt][32]byte{}}
	err := v.EachLedger(func(name string, number uint64) error {
		v.names[name] = number
		return v.ctx.Err()
	})
	if err != nil {
		return err
	}
	err = v.eachRow(rows.GenesesBucket, func(key, stored []byte) error {
		if _, err := rows.Unseal(rows.GenesesBucket, key, stored); err != nil {
			return err
		}
		number, err := rows.NumberIn(rows.GenesesBucket, key)
		if err != nil {
			return err
		}
		v.geneses = append(v.geneses, number)
		v.tail[number] = nil
		h, err := v.Head(number)
		v.records += 1 + h.At.Position
		return err
	})
	if err != nil {
		return err
	}
	return v.eachRow(rows.TailBucket, func(key, stored []byte) error {
		t, err := rows.UnsealTail(key, stored)
		if err != nil {
			return err
		}
		if _, known := v.tail[t.Number]; !known {
			return rowFinding(rows.TailBucket, key, "ledger number", "that of a genesis", fmt.Sprint(t.Number))
		}
		v.tail[t.Number] = append(v.tail[t.Number], t.Key())
		return nil
	})
}

// eachRow calls f with all rows of a bucket, in order.
func (v *verifier) eachRow(b rows.Bucket, f func(key, stored []byte) error) error {
	bb, err := v.Bucket(b)
	if err != nil {
		return err
	}
	return bb.ForEach(func(key, stored []byte) error {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		return f(key, stored)
	})
}

// follow goes through a ledger from its genesis, or from where it was kept, to its head.
func (v *worker) follow(number uint64) (*followed, error) {
	f := v.resume(number)
	if f == nil {
		var err error
		if f, err = v.begin(number); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(v.ctx)
	ahead, wait := v.readAhead(ctx, number, f.Head().Position+1)
	defer wait()
	defer cancel()
	for o := range ahead {
		if o.end {
			return f, o.err
		}
		for i, e := range o.entries {
			if err := v.next(f, o.Pack, i, e); err != nil {
				return nil, err
			}
		}
		v.went(len(o.entries))
	}
	return nil, v.ctx.Err() // without which there is an end
}

// counted notes the log key of a record that was taken at some time. Keys have no gap, unless several daemons have
// drawn them.
func (f *followed) counted(key uint64, at time.Time) {
	f.keys++
	f.sum += key
	f.highest = max(f.highest, key)
	if at.After(f.taken) {
		f.taken = at
	}
}

// gapless compares the log keys with 1, 2, 3 …. Those of a ledger rise; that no two ledgers have the same one follows
// from their sum.
func (v *verifier) gapless() error {
	n := v.highest
	if v.gaps || v.keys == n && v.sum == n%2*((n+1)/2*n)+(1-n%2)*(n/2*(n+1)) {
		return nil
	}
	return finding("", 0, "log keys", fmt.Sprintf("1 to %d, each once", n), fmt.Sprintf("%d keys", v.keys))
}

// begin takes a genesis.
func (v *worker) begin(key uint64) (*followed, error) {
	stored, err := rows.Must(v.View, rows.GenesesBucket, rows.NumberKey(key),
		func(b []byte) ([]byte, error) { return b, nil })
	if err != nil {
		return nil, err
	}
	r, err := audit.Begin(stored, v.kept)
	if err != nil {
		return nil, err
	}
	number, err := v.Number(r.Name())
	if err != nil || number != key {
		return nil, finding(r.Name(), 0, "row of bucket ledgers", fmt.Sprint(key), textOf(number, err))
	}
	f := &followed{Replay: r, number: key, raw: stored, since: v.since[r.Name()].head.Position,
		lanes: map[audit.Lane]rows.Lane{}, rights: v.rights.Of(r.Name())}
	if err := f.rights.Created(key, r.Genesis()); err != nil {
		return nil, err
	}
	f.counted(key, r.Genesis().Time)
	v.went(1)
	f.marks, err = v.marks(key)
	return f, err
}

// next takes a pack's entry, with what the store keeps of it alone: the links to the
// entries before, and the index.
func (v *worker) next(f *followed, p packs.Pack, i int, stored decoded) error {
	before, key := f.Head(), p.Keys[i]
	wrong := func(what string, expected, found any) error {
		return finding(f.Name(), before.Position+1, what, fmt.Sprint(expected), fmt.Sprint(found))
	}
	if i == 0 && p.First != before.Position+1 {
		return wrong("position", before.Position+1, p.First)
	}
	if i == 0 && p.Previous != before.Hash {
		return wrong("previous hash", fmt.Sprintf("%x, the hash of entry %d", before.Hash, before.Position),
			fmt.Sprintf("%x", p.Previous))
	}
	if key <= f.last || key <= f.number {
		return wrong("log key", fmt.Sprintf("one after %d", max(f.last, f.number)), key)
	}
	e, ofWriter := stored.Entry, stored.ofWriter
	if stored.err != nil {
		return wrong("stored bytes", "an entry",
			rows.DamagedBytes(rows.PacksBucket, rows.BlockKey(f.number, before.Position+1), stored.err))
	}
	if _, err := f.Next(e, p.Raws[i]); err != nil {
		return err
	}
	if err := f.rights.Wrote(key, e); err != nil {
		return err
	}
	if e.Position <= f.since {
		v.sets.remember(f.Name(), e)
	} else if differs, err := v.sets.took(f.Name(), f.number, e); err != nil {
		return err
	} else if differs {
		return v.differs(f.Name(), e)
	}
	f.counted(key, e.Time)
	if err := v.mark(f, e.Time); err != nil {
		return err
	}
	var ln rows.Lane
	var lane audit.Lane
	if !e.Writer.Single() {
		lane = f.LaneOf(e.Writer)
		ln = f.lanes[lane]
	}
	if ofWriter != ln.Position {
		return wrong("previous_of_writer", ln.Position, ofWriter)
	}
	if ln.First == 0 {
		ln.First = e.Position
	}
	ln.Sequence, ln.Position, f.last = e.Sequence, e.Position, key
	f.newest = ln
	if e.Writer.Single() {
		f.ofRequests = append(f.ofRequests, rows.Single{Hash: rows.HashOf(e.Writer), Position: e.Position})
	} else {
		f.lanes[lane] = ln
	}
	if e.Amends() {
		f.amended = append(f.amended, e.Position)
	}
	if e.Sequence%rows.IndexEvery != 0 {
		return nil
	}
	found, err := rows.Must(v.View, rows.SequencesBucket,
		rows.SequenceKey(f.number, ln.First, e.Sequence/rows.IndexEvery), rows.ParseUint64)
	if err != nil || found != e.Position {
		return wrong("row of bucket sequences", e.Position, textOf(found, err))
	}
	return nil
}

// differs says how a member's entry differs from what its journal says.
func (v *worker) differs(name string, e ledger.Entry) error {
	at := setAt{e.Set.Journal, e.Set.Position}
	h, err := v.Find(ledger.JournalName(at.journal))
	if err != nil {
		return err
	}
	r, err := v.Log(h).At(at.position)
	if err != nil {
		return err
	}
	said, _ := r.Entry.Action.(ledger.Together)
	for _, m := range said.Members {
		if m.Ledger == name {
			return finding(name, e.Position, "part of a set", fmt.Sprintf("entry %d by %s, %+v of %+v", m.Position,
				r.Entry.Writer.Principal, said.In(m), setPart(at, said)),
				fmt.Sprintf("by %s, %+v of %+v", e.Writer.Principal, e.Action, *e.Set))
		}
	}
	return at.finding("members", "an entry of ledger "+name, "none")
}
