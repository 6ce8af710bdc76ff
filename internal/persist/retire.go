// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Packs that are old, or of closed ledgers, move to segments outside of the file. A segment is written, synced and read
// back before the rows that it has are replaced, so each entry is in the file, in a segment, or in both. Nothing
// deletes a segment.
//
// What a ledger needs for its answers stays: its last pack, and packs with entries that amend it. So do the ledgers of
// the daemon itself.

// retirement says how much moves together.
type retirement struct {
	segment int // about how many bytes a segment has
	commit  int // how many bytes of rows one commit replaces, for which others wait
	block   int // a block, which is read as a whole
	least   int // how many bytes have to be there for a segment to be made
	open    int // how many a block of an open ledger has at least
	closed  int // of a closed one
}

var usually = retirement{segment: 4 << 20, commit: 1 << 20, block: 256 << 10, least: 1 << 20, open: 16 << 10,
	closed: 1 << 10}

// Retired says what has moved.
type Retired struct {
	Segments int
	Entries  uint64
	Bytes    int64 // of rows that are no longer in the file
}

// Retain records which packs leave the file, and where they go. Another folder or key is refused as long as a segment
// that has entries of this store cannot be read with it.
func (s *Store) Retain(r rows.Retention) (err error) {
	if r.After < 0 {
		return fmt.Errorf("entries leave the file %v after they were written; allowed: a duration ≥ 0", r.After)
	}
	r.Place, err = r.Full()
	var before rows.Retention
	if err == nil {
		before, err = s.Retention()
	}
	if err == nil {
		r.Sealed = before.Sealed
		err = r.Key.Has(r.Sealed)
	}
	if err != nil || before == r { // also where the place is away for now
		return err
	}
	if err := r.Make(s.config.Stop); err != nil {
		return err
	}
	if before.Place != r.Place {
		if err := s.readable(r.Place); err != nil {
			return fmt.Errorf("cold segments of this store are in %s, with key %q: %w; move all of them to %s first, "+
				"with a file that has all their keys", before.Dir, before.Key, err, r.Dir)
		}
	}
	return s.retain(r)
}

// Retention is what was recorded last; zero if nothing was.
func (s *Store) Retention() (r rows.Retention, err error) {
	err = s.view(func(v *rows.View) (err error) {
		r, err = v.Retention()
		return err
	})
	return r, err
}

func (s *Store) retain(r rows.Retention) error {
	return s.change(func(w *writing) error {
		w.stage(rows.MetaBucket, rows.RetentionKey, r.Append(w.value(8+len(r.Dir)+len(r.Key)+len(r.Sealed)+3)))
		return nil
	})
}

// readable returns an error unless a block of each segment of this store can be read at a place.
func (s *Store) readable(at cold.Place) error {
	known := map[cold.Name]bool{}
	return s.eachElsewhere(func(ref cold.Ref) error {
		if known[ref.Segment] {
			return nil
		}
		known[ref.Segment] = true
		if _, err := at.Read(s.config.Stop, ref); err != nil {
			return fmt.Errorf("segment %s: %w", ref.Segment, err)
		}
		return nil
	})
}

// Outside returns where the entries are that have left the file, and in which segments.
func (s *Store) Outside() (r rows.Retention, segments []cold.Name, err error) {
	if r, err = s.Retention(); err != nil {
		return r, nil, err
	}
	segments, err = segmentsOf(s.eachElsewhere)
	return r, segments, err
}

// Outside is Store.Outside of a file that nobody writes to.
func Outside(path string) (r rows.Retention, segments []cold.Name, err error) {
	err = house.Read(path, func(v *rows.View) (err error) {
		if r, err = v.Retention(); err != nil {
			return err
		}
		bucket, err := v.Bucket(rows.PacksBucket)
		if err != nil {
			return err
		}
		segments, err = segmentsOf(func(f func(cold.Ref) error) error {
			return bucket.ForEach(func(key, stored []byte) error { return elsewhere(key, stored, f) })
		})
		return err
	})
	return r, segments, err
}

// segmentsOf returns in which segments blocks lie, where each calls f with the place of every block.
func segmentsOf(each func(f func(cold.Ref) error) error) (segments []cold.Name, err error) {
	known := map[cold.Name]bool{}
	err = each(func(ref cold.Ref) error {
		if !known[ref.Segment] {
			known[ref.Segment], segments = true, append(segments, ref.Segment)
		}
		return nil
	})
	return segments, err
}

// elsewhere calls f with where the block of a row lies, if that is in a segment.
func elsewhere(key, stored []byte, f func(cold.Ref) error) error {
	if !rows.IsElsewhere(stored) {
		return nil
	}
	_, ref, err := rows.ParseElsewhere(key, stored)
	if err == nil {
		err = f(ref)
	}
	return err
}

// eachElsewhere calls f with where the blocks lie that are in segments.
func (s *Store) eachElsewhere(f func(cold.Ref) error) error {
	for next, done := []byte{0}, false; !done; {
		err := s.view(func(v *rows.View) error {
			for range viewedRows {
				key, stored, err := v.From(rows.PacksBucket, next)
				if err != nil || key == nil {
					done = err == nil
					return err
				}
				next = append(slices.Clone(key), 0)
				if err := elsewhere(key, stored, f); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Retire moves packs by what Retain has recorded. Charges go on meanwhile. One call at a time goes through the store.
// Where it is cut off, what has moved stays moved, and the next time goes on from there.
//
// What is in the tail becomes packs first: upkeep alone leaves some MiB there while charges go on, at whatever age.
func (s *Store) Retire(ctx context.Context, now time.Time) (Retired, error) {
	if _, err := s.deal(0); err != nil {
		return Retired{}, err
	}
	return s.retire(ctx, now, usually)
}

func (s *Store) retire(ctx context.Context, now time.Time, most retirement) (done Retired, err error) {
	s.retiring.Lock()
	defer s.retiring.Unlock()
	p := retiring{store: s, limits: most, next: []byte{0}}
	if p.place, err = s.Retention(); err == nil {
		err = p.place.Key.Has(p.place.Sealed)
	}
	if err != nil || p.place.Dir == "" {
		return done, err
	}
	p.cut = now.Add(-p.place.After)
	for end := false; !end; {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if err := s.view(func(v *rows.View) (err error) {
			end, err = p.slice(v)
			return err
		}); err != nil {
			return done, err
		}
		if p.size < most.segment && (!end || p.size < most.least) {
			continue
		}
		if err := p.seal(ctx, now, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// retiring is one pass through the packs.
type retiring struct {
	store  *Store
	limits retirement
	place  rows.Retention
	cut    time.Time // packs of which all entries are older leave
	next   []byte    // where to go on

	number        uint64 // of the ledger at hand
	closed, stays bool   // it is closed; it is the daemon's
	reader        record.Reader
	block         leaving // at hand
	blocks        []leaving
	size          int // of blocks
}

// leaving is a block that leaves the file.
type leaving struct {
	rows.Block
	entries uint64
	size    int
}

// slice looks at some packs, until there are enough for a segment. It reports whether they were the last ones.
func (p *retiring) slice(v *rows.View) (end bool, err error) {
	key, stored, err := v.From(rows.PacksBucket, p.next)
	for n := 0; err == nil && key != nil && n < viewedRows && p.size < p.limits.segment; n++ {
		number, _, err := rows.BlockIn(rows.PacksBucket, key)
		if err != nil {
			return false, err
		}
		if number != p.number {
			if err := p.begin(v, number); err != nil {
				return false, err
			}
		}
		following := append(slices.Clone(key), 0)
		after, storedAfter, err := v.From(rows.PacksBucket, following)
		if err != nil {
			return false, err
		}
		skip, err := p.take(key, stored, after)
		if err != nil {
			return false, err
		}
		if skip {
			following = rows.NumberKey(p.number + 1)
			if after, storedAfter, err = v.From(rows.PacksBucket, following); err != nil {
				return false, err
			}
		}
		p.next, key, stored = following, after, storedAfter
	}
	if err == nil && key == nil {
		p.flush()
	}
	return key == nil, err
}

// begin comes to a ledger.
func (p *retiring) begin(v *rows.View, number uint64) error {
	p.flush()
	h, err := v.Head(number)
	if err != nil {
		return err
	}
	g, _, _, err := v.Genesis(number)
	p.number, p.closed, p.stays = number, h.Closed, ledger.IsSystem(g.Spec.Name)
	return err
}

// take adds a row to the block at hand, if it leaves. It reports whether none of the ledger's later ones do.
func (p *retiring) take(key, stored, after []byte) (skip bool, err error) {
	last := binary.BigEndian.Uint64(key[8:])
	if newest := !bytes.HasPrefix(after, key[:8]); newest || p.stays {
		p.flush()
		return true, nil
	}
	if rows.IsElsewhere(stored) {
		p.flush()
		return false, nil
	}
	pack, err := rows.ParsePack(p.number, last, stored)
	if err != nil {
		return false, err
	}
	leaves, young, err := p.leaves(pack)
	switch {
	case err != nil:
		return false, err
	case young:
		p.flush()
		return true, nil
	case !leaves:
		p.flush()
		return false, nil
	}
	b := &p.block
	if len(b.Rows) == 0 {
		b.Number, b.First = p.number, pack.First
	}
	b.Rows = append(b.Rows, rows.PackRow{Last: last, Stored: bytes.Clone(stored)})
	b.size, b.entries = b.size+len(stored), b.entries+uint64(len(pack.Raws))
	if b.size >= p.limits.block {
		p.flush()
	}
	return false, nil
}

// leaves reports whether a pack may leave, or is too young to.
func (p *retiring) leaves(pack packs.Pack) (leaves, young bool, err error) {
	list, err := rows.Entries(p.number, pack, &p.reader)
	if err != nil {
		return false, false, err
	}
	leaves = true
	for _, e := range list {
		young = young || !p.closed && !e.Entry.Time.Before(p.cut)
		leaves = leaves && !e.Entry.Amends()
	}
	return leaves && !young, young, nil
}

// flush ends the block at hand.
func (p *retiring) flush() {
	least := p.limits.open
	if p.closed {
		least = p.limits.closed
	}
	if len(p.block.Rows) > 0 && p.block.size >= least {
		p.blocks, p.size = append(p.blocks, p.block), p.size+p.block.size
	}
	p.block = leaving{}
}

// seal writes the segment of the blocks, and replaces their rows then.
func (p *retiring) seal(ctx context.Context, now time.Time, done *Retired) error {
	content := fmt.Appendf(nil, "accountant cold segment 1\nstore %s, %s, entries older than %s or of closed ledgers\n",
		p.store.id, now.UTC().Format(time.RFC3339), p.place.After)
	refs := make([]cold.Ref, len(p.blocks))
	for i, b := range p.blocks {
		offset := len(content)
		content = b.Append(content)
		refs[i] = cold.Ref{Offset: uint64(offset), Length: uint64(len(content) - offset),
			Sum: sha256.Sum256(content[offset:])}
	}
	name, err := p.write(ctx, content)
	if err != nil {
		return err
	}
	for i := range refs {
		refs[i].Segment = name
		if _, err := p.place.Read(ctx, refs[i]); err != nil { // as it will be read later
			return fmt.Errorf("segment %s, which was just written: %w", name, err)
		}
	}
	done.Segments++
	p.store.upkeep.one.Lock() // nobody else changes packs
	defer p.store.upkeep.one.Unlock()
	for first, size, i := 0, 0, 0; i < len(p.blocks); i++ {
		if size += p.blocks[i].size; size < p.limits.commit && i+1 < len(p.blocks) {
			continue
		}
		if err := p.store.change(func(w *writing) error {
			for j := first; j <= i; j++ {
				if err := w.leave(p.blocks[j].Block, refs[j]); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for _, b := range p.blocks[first : i+1] {
			done.Entries, done.Bytes = done.Entries+b.entries, done.Bytes+int64(b.size)
		}
		first, size = i+1, 0
	}
	p.blocks, p.size = nil, 0
	return nil
}

// write writes a segment, after the key was recorded that seals it: somebody may exchange the key's file.
func (p *retiring) write(ctx context.Context, content []byte) (n cold.Name, err error) {
	sealing, err := p.place.Key.Sealing()
	if err != nil {
		return n, err
	}
	if all := p.place.Sealed.With(sealing); all != p.place.Sealed {
		p.place.Sealed = all
		if err := p.store.retain(p.place); err != nil {
			return n, err
		}
	}
	return p.place.Write(ctx, content)
}

// leave stages one row in the place of a block's, which must be as they are in the block.
func (w *writing) leave(b rows.Block, ref cold.Ref) error {
	for _, r := range b.Rows {
		key := rows.BlockKey(b.Number, r.Last)
		stored, err := w.Stored(rows.PacksBucket, key)
		if err != nil {
			return err
		}
		if !bytes.Equal(stored, r.Stored) {
			return rows.Damaged(rows.PacksBucket, key, "it is no longer what the segment has")
		}
		if r.Last != b.Last() {
			w.staged = append(w.staged, row{bucket: rows.PacksBucket, key: key})
		}
	}
	w.staged = append(w.staged, row{rows.PacksBucket, rows.BlockKey(b.Number, b.Last()), rows.SealElsewhere(b, ref)})
	return nil
}
