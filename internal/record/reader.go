// SPDX-License-Identifier: Apache-2.0

package record

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Reader reads many entries. What they say is that of UnmarshalEntry, byte for byte: a charge, as it is
// written, is read by hand, and one whose bytes were decoded and checked before is not decoded again. That takes
// a fifth of the time (BenchmarkReader), which is most of what a ledger's first history takes. Everything else is
// left to UnmarshalEntry, and so is every error. The zero Reader is ready. It is not for concurrent use.
type Reader struct {
	charges *Charges
	writer  ledger.Writer // of the last entry, whose texts are used again
}

// Entry reads an entry, as UnmarshalEntry does. What it returns does not lie in b.
func (r *Reader) Entry(b []byte) (e ledger.Entry, previousOfWriter uint64, err error) {
	if e, ofWriter, ok := r.charge(b); ok {
		return e, ofWriter, nil
	}
	return UnmarshalEntry(b)
}

// charge reads an entry if it is a valid charge that has each field at most once, and in order.
func (r *Reader) charge(b []byte) (e ledger.Entry, ofWriter uint64, ok bool) {
	if r.charges == nil {
		r.charges = newStoredCharges()
	}
	frame, rest := SplitEntry(b)
	f := fields{rest: rest}
	if set := f.bytes(setField); set != nil {
		if e.Set, e.First, ok = readSet(set); !ok {
			return e, 0, false
		}
	}
	body := f.bytes(chargeField())
	if len(f.rest) > 0 {
		return e, 0, false
	}
	e.Position, e.Sequence, e.Time = frame.Position, frame.Sequence, fromNanos(int64(frame.Nanos))
	e.Policy = frame.Policy
	e.Writer.Principal = again(frame.Principal, r.writer.Principal)
	e.Writer.Name = again(frame.Writer, r.writer.Name)
	if e.Action, e.Digest, ok = r.charges.Charge(body); !ok || checkFrame(e) != nil {
		return e, 0, false
	}
	r.writer = e.Writer
	return e, frame.PreviousOfWriter, true
}

// chargeField is the number of the field that holds a charge.
var chargeField = sync.OnceValue(func() protowire.Number { return entryAction().Fields().ByName("charge").Number() })

// again returns the text of b, which is known if it is that of the entry before.
func again(b []byte, known string) string {
	if string(b) == known {
		return known
	}
	return string(b)
}

// fields reads the fields of a message in order. One that is not there is 0, or has no bytes.
type fields struct {
	rest []byte
	bad  bool // there were bytes that are no field
}

// next reports whether a field comes next that has this number and kind, and passes by its tag.
func (f *fields) next(want protowire.Number, kind protowire.Type) bool {
	if f.bad || len(f.rest) == 0 {
		return false
	}
	number, found, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		f.bad = true
	}
	if n < 0 || number != want || found != kind {
		return false
	}
	f.rest = f.rest[n:]
	return true
}

func (f *fields) number(number protowire.Number) uint64 {
	if !f.next(number, protowire.VarintType) {
		return 0
	}
	v, n := protowire.ConsumeVarint(f.rest)
	if n < 0 {
		f.bad = true
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

func (f *fields) bytes(number protowire.Number) []byte {
	if !f.next(number, protowire.BytesType) {
		return nil
	}
	v, n := protowire.ConsumeBytes(f.rest)
	if n < 0 {
		f.bad = true
		return nil
	}
	f.rest = f.rest[n:]
	return v
}
