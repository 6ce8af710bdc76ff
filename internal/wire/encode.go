package wire

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// The entry's frame is written by hand, with protobuf's numbers and in their
// order: package proto takes several times as long, most of it for sorting the
// labels' map. The test compares both byte for byte.

// appendEntry appends an accountant.record.v1.Entry.
func appendEntry(b []byte, e ledger.Entry, nanos int64, previousInLedger, previousOfWriter uint64) ([]byte, error) {
	b = appendNumber(b, 1, e.Position)
	b = appendString(b, 2, e.Writer.Principal)
	b = appendString(b, 3, e.Writer.Name)
	b = appendNumber(b, 4, e.Sequence)
	b = appendTag(b, 5)
	b = protowire.AppendBytes(b, e.Digest[:])
	b = appendNumber(b, 6, uint64(nanos))
	b = appendNumber(b, 7, previousInLedger)
	b = appendNumber(b, 8, previousOfWriter)
	var room [512]byte
	switch v := e.Action.(type) {
	case ledger.Charge:
		body := appendCharge(room[:0], v)
		return protowire.AppendBytes(appendTag(b, 9), body), nil
	case ledger.Close:
		body := appendString(room[:0], 1, v.Reason)
		return protowire.AppendBytes(appendTag(b, 10), body), nil
	case ledger.Reserve:
		body := appendCharge(room[:0], ledger.Charge{Events: v.Events, Labels: v.Labels})
		body = appendString(appendNumber(body, 3, uint64(v.Lifetime/time.Second)), 4, v.Child)
		return protowire.AppendBytes(appendTag(b, 11), body), nil
	case ledger.Commit:
		body := appendCharge(room[:0], ledger.Charge{Events: v.Events, Labels: v.Labels})
		body = appendNumber(body, 3, v.Reservation)
		return protowire.AppendBytes(appendTag(b, 12), body), nil
	case ledger.Release:
		body := appendString(appendNumber(room[:0], 1, v.Reservation), 2, v.Reason)
		return protowire.AppendBytes(appendTag(b, 13), body), nil
	case ledger.Expire:
		body := appendNumber(room[:0], 1, v.Reservation)
		return protowire.AppendBytes(appendTag(b, 14), body), nil
	case ledger.Refund: // these are rare
		body, err := marshal(fromRefund(v))
		return protowire.AppendBytes(appendTag(b, 15), body), err
	case ledger.Free:
		body, err := marshal(fromFree(v))
		return protowire.AppendBytes(appendTag(b, 19), body), err
	case ledger.Raise:
		body, err := marshal(&recordv1.Raise{Raise: fromRaise(v), Resolution: fromResolution(v.Resolution), Late: v.Late})
		return protowire.AppendBytes(appendTag(b, 16), body), err
	case ledger.Restored:
		body, err := marshal(fromRestored(v))
		return protowire.AppendBytes(appendTag(b, 17), body), err
	case ledger.Reconcile:
		body, err := marshal(fromReconcile(v))
		return protowire.AppendBytes(appendTag(b, 18), body), err
	}
	return nil, absent("action", actions)
}

// appendCharge appends an accountant.v1.Charge; Reserve and Commit begin likewise.
func appendCharge(b []byte, c ledger.Charge) []byte {
	var room [128]byte
	for _, e := range c.Events {
		m := appendRecorded(room[:0], e.Mechanism)
		size := sizeBytes(len(m)) + protowire.SizeTag(2) + protowire.SizeVarint(uint64(e.Count))
		b = protowire.AppendVarint(appendTag(b, 1), uint64(size))
		b = protowire.AppendBytes(appendTag(b, 1), m)
		b = appendNumber(b, 2, uint64(e.Count))
	}
	for _, l := range c.Labels { // a map's entries: key 1, value 2, both always written
		b = protowire.AppendVarint(appendTag(b, 2), uint64(sizeBytes(len(l.Key))+sizeBytes(len(l.Value))))
		b = protowire.AppendString(appendTag(b, 1), l.Key)
		b = protowire.AppendString(appendTag(b, 2), l.Value)
	}
	return b
}

// sizeBytes is the size of a field of n bytes with a number below 16.
func sizeBytes(n int) int { return 1 + protowire.SizeBytes(n) }

func appendTag(b []byte, n protowire.Number) []byte {
	return protowire.AppendTag(b, n, protowire.BytesType)
}

// appendNumber leaves out 0, as protobuf does.
func appendNumber(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

// appendString leaves out the empty text, as protobuf does.
func appendString(b []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(appendTag(b, n), s)
}
