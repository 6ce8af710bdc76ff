// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Charges reads encoded charges. A training job reports the same few events again
// and again: those whose bytes were decoded and checked before are not decoded
// again, which is most of a charge's way to the ledger. It is safe for concurrent
// use.
type Charges struct {
	check func(mechanism.Event) error // of an event whose ranges were not checked
	most  int                         // events that it knows

	mu    sync.RWMutex
	known map[string]mechanism.Event // by their bytes; they pass check
}

const (
	maxKnownEvents    = 64
	maxKnownEventSize = 256 // bytes
)

// NewCharges returns a reader of the charges of ledgers with this adjacency, which knows at most so many events.
func NewCharges(adj mechanism.Adjacency, most int) *Charges {
	return newCharges(min(most, maxKnownEvents), func(e mechanism.Event) error { return e.Check(adj) })
}

// NewStoredCharges returns a reader of charges in stored entries, which do not say their ledger's adjacency: each
// event is valid under one.
func NewStoredCharges() *Charges { return newCharges(maxKnownEvents, checkEvent) }

func newCharges(most int, check func(mechanism.Event) error) *Charges {
	return &Charges{check: check, most: most, known: map[string]mechanism.Event{}}
}

// Sequenced splits an encoded ReportStreamRequest with a charge into its number in the lane and the encoded Charge,
// which lies in b, if its fields are in order and have none of the rarities that protobuf allows. ok is false for every
// other message; the caller decodes those in full to find out what they are.
func Sequenced(b []byte) (sequence uint64, charge []byte, ok bool) {
	sequenced, rest, ok := field(b, 2) // ReportStreamRequest.charge
	if !ok || len(rest) > 0 {
		return 0, nil, false
	}
	sequence, body, ok := number(sequenced, 1) // SequencedCharge.sequence
	if !ok {
		return 0, nil, false
	}
	charge, rest, ok = field(body, 2) // SequencedCharge.charge
	return sequence, charge, ok && len(rest) == 0
}

// Charge reads an encoded Charge if it is a valid one in the order and without the rarities that protobuf allows: its
// result is then that of proto.Unmarshal and To, and body may be used again.
func (c *Charges) Charge(body []byte) (charge ledger.Charge, ok bool) {
	for event, rest, ok := field(body, 1); ok; event, rest, ok = field(body, 1) { // Charge.events
		e, ok := c.event(event)
		if !ok {
			return charge, false
		}
		charge.Events = append(charge.Events, e)
		body = rest
	}
	if len(body) > 0 {
		if charge.Labels, ok = labels(body); !ok {
			return charge, false
		}
	}
	return charge, checkEventNumber("", len(charge.Events)) == nil && checkLabels("", charge.Labels) == nil
}

// labels reads the labels at a charge's end. They share one text.
func labels(body []byte) (labels []ledger.Label, ok bool) {
	text := string(body)
	labels = make([]ledger.Label, 0, 4)
	for len(body) > 0 {
		entry, rest, ok := field(body, 2) // Charge.labels
		key, value, first := field(entry, 1)
		content, more, second := field(value, 2)
		if !ok || !first || !second || len(more) > 0 {
			return nil, false
		}
		end := len(text) - len(rest) // of the entry, and of its value
		keyEnd := end - len(value)
		labels = append(labels, ledger.Label{Key: text[keyEnd-len(key) : keyEnd], Value: text[end-len(content) : end]})
		body = rest
	}
	if len(labels) > 1 {
		slices.SortFunc(labels, func(x, y ledger.Label) int { return strings.Compare(x.Key, y.Key) })
	}
	return labels, true
}

// event reads an encoded Event, if it is valid.
func (c *Charges) event(b []byte) (mechanism.Event, bool) {
	c.mu.RLock()
	known, ok := c.known[string(b)]
	c.mu.RUnlock()
	if ok {
		return known, true
	}
	var e pb.Event
	if len(b) > maxKnownEventSize || proto.Unmarshal(b, &e) != nil {
		return mechanism.Event{}, false
	}
	events, err := toEvents("", []*pb.Event{&e})
	if err != nil || c.check(events[0]) != nil {
		return mechanism.Event{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) == c.most { // what is still in use is soon here again
		clear(c.known)
	}
	c.known[string(b)] = events[0]
	return events[0], true
}

// field splits off a field of bytes with this number, if b begins with one.
func field(b []byte, number protowire.Number) (value, rest []byte, ok bool) {
	got, kind, n := protowire.ConsumeTag(b)
	if n < 0 || got != number || kind != protowire.BytesType {
		return nil, nil, false
	}
	value, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return nil, nil, false
	}
	return value, b[n+m:], true
}
