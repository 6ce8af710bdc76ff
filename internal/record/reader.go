package record

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Reader reads many entries. What they say is that of UnmarshalEntry, byte for byte: a charge of one ledger, as it is
// written, is read by hand, and events whose bytes were decoded and checked before are not decoded again. That takes
// a fifth of the time (BenchmarkReader), which is most of what a ledger's first history takes. Everything else is
// left to UnmarshalEntry, and so is every error. The zero Reader is ready. It is not for concurrent use.
type Reader struct {
	charges *wire.Charges
	writer  ledger.Writer // of the last entry, whose texts are used again
}

// Entry reads an entry, as UnmarshalEntry does. What it returns does not lie in b.
func (r *Reader) Entry(b []byte) (e ledger.Entry, previousInLedger, previousOfWriter uint64, err error) {
	if e, inLedger, ofWriter, ok := r.charge(b); ok {
		return e, inLedger, ofWriter, nil
	}
	return UnmarshalEntry(b)
}

// charge reads an entry if it is a valid charge that has each field at most once, and in order.
func (r *Reader) charge(b []byte) (e ledger.Entry, inLedger, ofWriter uint64, ok bool) {
	if r.charges == nil {
		r.charges = wire.NewStoredCharges()
	}
	f := fields{rest: b}
	e.Position = f.number(1)
	e.Writer.Principal = again(f.bytes(2), r.writer.Principal)
	e.Writer.Name = again(f.bytes(3), r.writer.Name)
	e.Sequence = f.number(4)
	digest := f.bytes(5)
	e.Time = fromNanos(int64(f.number(6)))
	inLedger, ofWriter = f.number(7), f.number(8)
	body := f.bytes(charges)
	if f.bad || len(f.rest) > 0 || copy(e.Digest[:], digest) != len(digest) || len(digest) != len(e.Digest) {
		return e, 0, 0, false
	}
	charge, ok := r.charges.Charge(body)
	if !ok {
		return e, 0, 0, false
	}
	e.Action = charge
	if checkFrame(e) != nil {
		return e, 0, 0, false
	}
	r.writer = e.Writer
	return e, inLedger, ofWriter, true
}

// Links reads of an entry only its position and the key of the entry before it in its ledger, which are written before
// the action. ok is false where they are not in the order in which MarshalEntry writes them: then Entry tells more.
func Links(b []byte) (position, previousInLedger uint64, ok bool) {
	f := fields{rest: b}
	position = f.number(1)
	f.bytes(2)
	f.bytes(3)
	f.number(4)
	f.bytes(5)
	f.number(6)
	previousInLedger = f.number(7)
	return position, previousInLedger, !f.bad && position > 0 && previousInLedger > 0
}

// charges is the number of the field that holds a charge.
var charges = entryAction.Fields().ByName("charge").Number()

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
