package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// digestTag separates these hashes from all others. Its version counts the
// encoding below: another encoding gets another tag, never the same one.
const digestTag = "accountant request digest v1\x00"

// Tags of the actions, never changed or used again.
const (
	tagCharge  = 1
	tagClose   = 2
	tagReserve = 3
	tagCommit  = 4
	tagRelease = 5
	tagExpire  = 6
	tagRefund  = 7
	tagRaise   = 8
	tagChild   = 9 // a Reserve for a child

	tagRestored  = 10
	tagReconcile = 11
	tagFree      = 12
)

// Digest is SHA-256 over a domain tag with a version and the canonical encoding
// of what an action asks: events as reported, in order; labels by key. Equal actions
// have equal digests and distinct ones distinct encodings: every value has a tag
// and a fixed width or a length before it. It does not depend on protobuf.
func Digest(v ledger.Action) ledger.Digest {
	var room [512]byte // most encodings fit, without an allocation
	return sha256.Sum256(appendAction(append(room[:0], digestTag...), v))
}

func appendAction(b []byte, v ledger.Action) []byte {
	switch v := v.(type) {
	case ledger.Charge:
		return appendCharged(append(b, tagCharge), v.Events, v.Labels)
	case ledger.Close:
		return appendText(append(b, tagClose), v.Reason)
	case ledger.Reserve:
		if v.Child != "" {
			return appendCharged(appendText(append(b, tagChild), v.Child), v.Events, v.Labels)
		}
		b = binary.BigEndian.AppendUint64(append(b, tagReserve), uint64(v.Lifetime/time.Second))
		return appendCharged(b, v.Events, v.Labels)
	case ledger.Commit:
		b = binary.BigEndian.AppendUint64(append(b, tagCommit), v.Reservation)
		return appendCharged(b, v.Events, v.Labels)
	case ledger.Release:
		return appendText(binary.BigEndian.AppendUint64(append(b, tagRelease), v.Reservation), v.Reason)
	case ledger.Free: // what it gives back follows from the reservation
		return appendText(binary.BigEndian.AppendUint64(append(b, tagFree), v.Reservation), v.Reason)
	case ledger.Refund: // what it gives back follows from the position
		return appendText(binary.BigEndian.AppendUint64(append(b, tagRefund), v.Position), v.Reason)
	case ledger.Raise: // what it comes to follows from the rest
		return appendRaise(append(b, tagRaise), v)
	case ledger.Restored:
		b = append(appendText(appendText(append(b, tagRestored), v.From), v.StoreID), v.Copy[:]...)
		return binary.BigEndian.AppendUint64(b, uint64(v.Newest.UnixNano()))
	case ledger.Reconcile: // whether it is over a budget follows from the ledger
		return appendText(append(appendCharged(append(b, tagReconcile), v.Events, nil), bit(v.AcceptLoss)), v.Reason)
	case ledger.Expire:
		return binary.BigEndian.AppendUint64(append(b, tagExpire), v.Reservation)
	}
	panic(fmt.Sprintf("wire: no canonical encoding of %T", v)) // the interface is sealed: a case is missing above
}

func appendRaise(b []byte, v ledger.Raise) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(v.Budgets)))
	for _, g := range v.Budgets {
		b = append(b, byte(g.Guard))
		for _, n := range [...]float64{g.Epsilon, g.Delta, g.Rho, g.Mu, g.Order} {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(n))
		}
	}
	b = appendCharged(appendText(b, v.Plan.Name), v.Plan.Events, nil)
	return appendText(append(b, bit(v.Independent)), v.Reason)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func appendCharged(b []byte, events []mechanism.Event, labels []ledger.Label) []byte {
	return appendLabels(appendEvents(b, events), labels)
}

func appendEvents(b []byte, events []mechanism.Event) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(events)))
	for _, e := range events {
		b = binary.BigEndian.AppendUint32(b, e.Count)
		b = appendMechanism(b, e.Mechanism)
	}
	return b
}

func appendLabels(b []byte, labels []ledger.Label) []byte {
	byKey := func(x, y ledger.Label) int {
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Value, y.Value))
	}
	if !slices.IsSortedFunc(labels, byKey) {
		labels = slices.SortedFunc(slices.Values(labels), byKey)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(len(labels)))
	for _, l := range labels {
		b = appendText(appendText(b, l.Key), l.Value)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}
