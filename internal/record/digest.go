package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// digestTag separates these hashes from all others. Its version counts the
// encoding below: another encoding gets another tag, never the same one.
const digestTag = "accountant request digest v1\x00"

// Digest is SHA-256 over a domain tag with a version and the canonical encoding
// of what an action asks: events as reported, in order; labels by key. Equal actions
// have equal digests and distinct ones distinct encodings: every value has a tag
// and a fixed width or a length before it. It does not depend on protobuf.
func Digest(v ledger.Action) ledger.Digest {
	b := append(make([]byte, 0, 512), digestTag...) // most encodings fit
	return sha256.Sum256(appendAction(b, v))
}

func appendAction(b []byte, v ledger.Action) []byte {
	if a, ok := v.(ledger.Approvable); ok && a.Approved() != (ledger.Approval{}) {
		b = appendUint64(append(b, 22), a.Approved().Proposal) // whose it is, and who approves it, follows
	}
	return canonical[v.Kind()](b, v)
}

// canonical appends the canonical encoding of what an action of each kind asks. The tag
// that it begins with is never changed or used again; 9 is that of a Reserve for a child.
var canonical = withOthers(map[string]func(b []byte, v ledger.Action) []byte{
	"charge": asks(1, func(b []byte, v ledger.Charge) []byte { return appendCharged(b, v.Events, v.Labels) }),
	"close":  asks(2, func(b []byte, v ledger.Close) []byte { return wire.AppendText(b, v.Reason) }),
	"reserve": func(b []byte, action ledger.Action) []byte {
		v := action.(ledger.Reserve)
		if v.Child != "" {
			b = wire.AppendText(append(b, 9), v.Child)
		} else {
			b = appendUint64(append(b, 3), uint64(v.Lifetime/time.Second))
		}
		return appendCharged(b, v.Events, v.Labels)
	},
	"commit": asks(4, func(b []byte, v ledger.Commit) []byte {
		return appendCharged(appendUint64(b, v.Reservation), v.Events, v.Labels)
	}),
	"release": asks(5,
		func(b []byte, v ledger.Release) []byte {
			return wire.AppendText(appendUint64(b, v.Reservation), v.Reason)
		}),
	"expire": asks(6, func(b []byte, v ledger.Expire) []byte { return appendUint64(b, v.Reservation) }),
	// What a refund gives back follows from the position.
	"refund": asks(7,
		func(b []byte, v ledger.Refund) []byte { return wire.AppendText(appendUint64(b, v.Position), v.Reason) }),
	// What a raise comes to follows from the rest.
	"raise": asks(8, appendRaise),
	"restored": asks(10, func(b []byte, v ledger.Restored) []byte {
		b = append(wire.AppendText(wire.AppendText(b, v.From), v.StoreID), v.Copy[:]...)
		b = appendUint64(b, uint64(v.Newest.UnixNano()))
		return append(appendUint64(b, v.Lost.Position), v.Lost.Hash[:]...)
	}),
	// Whether it is over a budget follows from the ledger.
	"reconcile": asks(11, func(b []byte, v ledger.Reconcile) []byte {
		return wire.AppendText(append(appendCharged(b, v.Events, nil), wire.Bit(v.AcceptLoss)|byte(v.Contribution)<<1),
			v.Reason)
	}),
	"acknowledge": asks(13, func(b []byte, v ledger.Acknowledge) []byte {
		return wire.AppendText(wire.AppendText(b, v.Warning), v.Reason)
	}),
	// What a freed reservation gives back follows from the reservation.
	"free": asks(12,
		func(b []byte, v ledger.Free) []byte { return wire.AppendText(appendUint64(b, v.Reservation), v.Reason) }),
	"access_policy": asks(23,
		func(b []byte, v ledger.AccessPolicy) []byte { return wire.AppendText(b, string(v.Text)) }),
	// Whether ledgers were charged follows from them, but not from the dataset's record alone.
	"adopt": asks(14, func(b []byte, v ledger.Adopt) []byte {
		b = appendUint64(wire.AppendText(b, v.Dataset), uint64(v.Ledgers))
		return wire.AppendText(append(b, wire.Bit(v.Charged), wire.Bit(v.Independent)), v.Reason)
	}),
	// What the budgets come to follows from the rest.
	"amend_dataset": asks(15, appendAmendDataset),
	"withdraw": asks(21,
		func(b []byte, v ledger.Withdraw) []byte {
			return wire.AppendText(appendUint64(b, v.Proposal), v.Reason)
		}),
})

// withOthers adds the encodings of actions that contain others. That of a proposal is the encoding of
// what it proposes after a tag. How long it may be approved, and by whom it is made, is not asked for.
func withOthers(all map[string]func(b []byte, v ledger.Action) []byte) map[string]func(b []byte,
	v ledger.Action) []byte {
	all["propose"] = asks(20, func(b []byte, v ledger.Propose) []byte { return all[v.Action.Kind()](b, v.Action) })
	all["together"] = asks(24, func(b []byte, v ledger.Together) []byte {
		return all[v.Action.Kind()](appendSetAsked(b, v), v.Action)
	})
	return all
}

// asks puts a tag before the encoding of an action.
func asks[A ledger.Action](tag byte, appended func([]byte, A) []byte) func([]byte, ledger.Action) []byte {
	return func(b []byte, v ledger.Action) []byte { return appended(append(b, tag), v.(A)) }
}

func appendAmendDataset(b []byte, v ledger.AmendDataset) []byte {
	b = append(b, wire.Bit(v.Title != nil), wire.Bit(v.Caps != nil), wire.Bit(v.AddVersion != nil))
	if v.Title != nil {
		b = wire.AppendText(b, *v.Title)
	}
	b = appendUint64(b, uint64(len(v.Owners)))
	for _, o := range v.Owners {
		b = wire.AppendText(b, o)
	}
	b = appendLabels(b, v.Labels)
	if v.Caps != nil {
		b = appendUint64(appendUint64(b, math.Float64bits(v.Caps.Charge)), math.Float64bits(v.Caps.Ledger))
	}
	b = appendBudgets(b, v.Budgets)
	if v.AddVersion != nil {
		all := append([]ledger.DatasetReference{v.AddVersion.Of}, v.AddVersion.DerivedFrom...)
		b = appendUint64(b, uint64(len(all)))
		for _, r := range all {
			b = wire.AppendText(wire.AppendText(b, r.ID), r.Version)
		}
	}
	return wire.AppendText(append(b, wire.Bit(v.Independent)), v.Reason)
}

func appendBudgets(b []byte, budgets []accountant.Budget) []byte {
	b = appendUint64(b, uint64(len(budgets)))
	for _, g := range budgets {
		b = append(b, byte(g.Guard))
		for _, n := range [...]float64{g.Epsilon, g.Delta, g.Rho, g.Mu, g.Order} {
			b = appendUint64(b, math.Float64bits(n))
		}
	}
	return b
}

func appendRaise(b []byte, v ledger.Raise) []byte {
	b = appendBudgets(b, v.Budgets)
	b = appendCharged(wire.AppendText(b, v.Plan.Name), v.Plan.Events, nil)
	return wire.AppendText(append(b, wire.Bit(v.Independent)), v.Reason)
}

func appendCharged(b []byte, events []mechanism.Event, labels []ledger.Label) []byte {
	return appendLabels(wire.AppendEvents(b, events), labels)
}

func appendLabels(b []byte, labels []ledger.Label) []byte {
	byKey := func(x, y ledger.Label) int {
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Value, y.Value))
	}
	if !slices.IsSortedFunc(labels, byKey) {
		labels = slices.SortedFunc(slices.Values(labels), byKey)
	}
	b = appendUint64(b, uint64(len(labels)))
	for _, l := range labels {
		b = wire.AppendText(wire.AppendText(b, l.Key), l.Value)
	}
	return b
}

func appendUint64(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }
