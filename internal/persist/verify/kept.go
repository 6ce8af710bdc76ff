// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// Kept is what an auditor keeps of a store that was verified: how each ledger stood. The next time the entries up to
// there need not be read again. It is some hundred bytes a ledger, however many entries that has.
type Kept struct {
	StoreID string
	ledgers map[string]stand
}

// stand is how a ledger stood after its newest entry.
type stand struct {
	head ledger.Head
	// digest is of all that the ledger's own rows say. It is zero, and the rest is missing, of an empty ledger, one
	// from which others take their shares, a journal and the policies: what concerns several ledgers follows from all
	// entries of these.
	digest [sha256.Size]byte

	// What the rows do not say any more once there are later entries.
	number            uint64 // of the ledger
	closed            bool
	last, sum         uint64    // log key of the entry, and the sum of all (modulo 2^64)
	newest            rows.Lane // of the entry
	ledger.Checkpoint           // totals and open reservations
}

// KeptHead begins the file. Its number is that of what follows and of how digests are made.
const KeptHead = "accountant kept 1\n"

// errKept says that a file is none that Append has made.
var errKept = errors.New("it is damaged, or was kept by another version of this program; allowed: a file of " +
	"accountctl verify --keep, or to verify without it")

// Append appends the file's content, which ends with its SHA-256.
func (k *Kept) Append(b []byte) ([]byte, error) {
	start := len(b)
	b = packs.AppendText(append(b, KeptHead...), k.StoreID)
	b = binary.AppendUvarint(b, uint64(len(k.ledgers)))
	for _, name := range slices.Sorted(maps.Keys(k.ledgers)) {
		s := k.ledgers[name]
		b = binary.AppendUvarint(packs.AppendText(b, name), s.head.Position)
		b = append(append(b, s.head.Hash[:]...), s.digest[:]...)
		if s.digest == [len(s.digest)]byte{} {
			continue
		}
		b = appendNumbers(b, s.number, oneIf(s.closed), s.last, s.sum, s.newest.First, s.newest.Sequence)
		value, err := rows.SealCheckpoint(s.number, s.Checkpoint)
		if err != nil {
			return nil, err
		}
		b = packs.AppendText(b, value)
	}
	sum := sha256.Sum256(b[start:])
	return append(b, sum[:]...), nil
}

func oneIf(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

func appendNumbers(b []byte, list ...uint64) []byte {
	for _, n := range list {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// ReadKept reads what Append has appended.
func ReadKept(b []byte) (*Kept, error) {
	body := b[:max(0, len(b)-sha256.Size)]
	rest, begins := bytes.CutPrefix(body, []byte(KeptHead))
	if sum := sha256.Sum256(body); !begins || !bytes.Equal(sum[:], b[len(body):]) {
		return nil, errKept
	}
	r := packs.Varints{B: rest}
	k := &Kept{StoreID: string(r.Text()), ledgers: map[string]stand{}}
	for left := r.Next(); left > 0 && !r.Bad; left-- {
		name := string(r.Text())
		s := stand{head: ledger.Head{Position: r.Next()}}
		copy(s.head.Hash[:], r.Bytes(uint64(len(s.head.Hash))))
		copy(s.digest[:], r.Bytes(uint64(len(s.digest))))
		if s.digest != [len(s.digest)]byte{} {
			s.number, s.closed, s.last, s.sum = r.Next(), r.Next() == 1, r.Next(), r.Next()
			s.newest = rows.Lane{First: r.Next(), Sequence: r.Next(), Position: s.head.Position}
			var ok bool
			s.Checkpoint, ok = rows.UnsealCheckpoint(s.number, s.head.Position, r.Text())
			r.Bad = r.Bad || !ok
		}
		k.ledgers[name] = s
	}
	if r.End() != nil {
		return nil, errKept
	}
	return k, nil
}

// witnesses are the heads, in the order of the names.
func (k *Kept) witnesses() (list []audit.Witness) {
	for _, name := range slices.Sorted(maps.Keys(k.ledgers)) {
		at := k.ledgers[name].head
		list = append(list, audit.Witness{Source: "what was kept of the verification before", StoreID: k.StoreID,
			Ledger: name, Position: at.Position, Hash: at.Hash})
	}
	return list
}

// keep notes how a ledger stands that was gone through. Its rows are not compared yet.
func (v *worker) keep(f *followed) error {
	if !v.Keep {
		return nil
	}
	s := stand{head: f.Head()}
	name := f.Name()
	if s.head.Position > 0 && !ledger.IsSystem(name) && !ledger.IsDataset(name) && !f.Shares() {
		s.number, s.closed, s.last, s.sum, s.newest = f.number, f.State().Summary().Closed, f.last, f.sum, f.newest
		s.Checkpoint = f.State().Checkpoint()
		s.Head, s.Earliest = s.head, f.rights.Clock() // here the latter is the time by which policies are told
		var err error
		if s.digest, err = v.digest(f); err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ToKeep.ledgers[name] = s
	return nil
}

// digestTag begins what a digest is made of.
const digestTag = "accountant verified ledger v1\x00"

// digest is over all from which the next entries of a ledger are decided, and over the rows that were compared with the
// entries so far.
func (v *worker) digest(f *followed) (sum [sha256.Size]byte, err error) {
	state, h := f.State(), sha256.New()
	b := []byte(digestTag)
	write := func() {
		h.Write(b)
		b = b[:0]
	}
	at := f.Head()
	b = append(packs.AppendText(b, f.raw), at.Hash[:]...)
	parts, open := state.Parts(), state.Reservations()
	b = appendNumbers(b, at.Position, f.number, f.last, f.sum, f.newest.First, f.newest.Sequence,
		oneIf(state.Summary().Closed), uint64(len(parts)), uint64(len(open)), uint64(len(f.amended)),
		uint64(len(f.lanes)), uint64(len(f.ofRequests)))
	for _, r := range open {
		raw, err := record.MarshalReservation(r)
		if err != nil {
			return sum, err
		}
		b = packs.AppendText(binary.AppendUvarint(b, r.Position), raw)
		write()
	}
	for _, p := range parts {
		raw, err := record.MarshalMechanism(p.Mechanism)
		if err != nil {
			return sum, err
		}
		b = binary.AppendUvarint(packs.AppendText(b, raw), p.Count)
		write()
	}
	head, err := v.Head(f.number)
	if err != nil {
		return sum, err
	}
	log := v.Log(head)
	for _, position := range f.amended {
		r, err := log.At(position)
		if err != nil {
			return sum, err
		}
		b = packs.AppendText(binary.AppendUvarint(b, position), r.Raw)
		write()
	}
	for _, lane := range slices.SortedFunc(maps.Keys(f.lanes), func(a, b audit.Lane) int {
		return bytes.Compare(a[:], b[:])
	}) {
		l := f.lanes[lane]
		b = appendNumbers(append(b, lane[:]...), l.First, l.Sequence, l.Position)
		write()
	}
	slices.SortFunc(f.ofRequests, rows.CompareKeys)
	for _, key := range f.ofRequests {
		b = appendNumbers(b, key.Hash, key.Position)
		write()
	}
	if err := v.eachSequence(f, func(key, stored []byte) {
		b = packs.AppendText(append(b, key...), stored)
		write()
	}); err != nil {
		return sum, err
	}
	write()
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// eachSequence goes through the index rows of the lanes as far as these have come.
func (v *worker) eachSequence(f *followed, each func(key, stored []byte)) error {
	blocks := f.blocksOfLanes()
	return v.Each(rows.SequencesBucket, rows.NumberKey(f.number), func(key, stored []byte) error {
		if len(key) == 24 && binary.BigEndian.Uint64(key[16:]) <= blocks[binary.BigEndian.Uint64(key[8:])] {
			each(key, stored)
		}
		return nil
	})
}
