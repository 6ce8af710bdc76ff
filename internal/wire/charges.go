package wire

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Charges reads a report stream's charges. A training job reports the same few
// events again and again: those whose bytes were decoded and checked before are
// not decoded again, which is most of a charge's way to the ledger.
type Charges struct {
	adjacency mechanism.Adjacency
	known     map[string]mechanism.Event // by their bytes; valid under adjacency
}

const (
	maxKnownEvents    = 64
	maxKnownEventSize = 256 // bytes
)

// NewCharges returns a reader of the charges of one ledger.
func NewCharges(adj mechanism.Adjacency) *Charges {
	return &Charges{adj, map[string]mechanism.Event{}}
}

// Read reads an encoded ReportStreamRequest if it is a valid charge in the order
// and without the rarities that protobuf allows: its result is then that of
// proto.Unmarshal and ToCharge, and b may be used again. ok is false for every
// other message; the caller decodes those in full to find out what they are.
func (c *Charges) Read(b []byte) (sequence uint64, charge ledger.Charge, ok bool) {
	sequenced, rest, ok := field(b, 2) // ReportStreamRequest.charge
	if !ok || len(rest) > 0 {
		return 0, charge, false
	}
	number, kind, n := protowire.ConsumeTag(sequenced)
	if n < 0 || number != 1 || kind != protowire.VarintType { // SequencedCharge.sequence
		return 0, charge, false
	}
	sequence, m := protowire.ConsumeVarint(sequenced[n:])
	if m < 0 {
		return 0, charge, false
	}
	body, rest, ok := field(sequenced[n+m:], 2) // SequencedCharge.charge
	if !ok || len(rest) > 0 {
		return 0, charge, false
	}
	for event, rest, ok := field(body, 1); ok; event, rest, ok = field(body, 1) { // Charge.events
		e, ok := c.event(event)
		if !ok {
			return 0, charge, false
		}
		charge.Events = append(charge.Events, e)
		body = rest
	}
	for entry, rest, ok := field(body, 2); ok; entry, rest, ok = field(body, 2) { // Charge.labels
		key, value, first := field(entry, 1)
		text, end, second := field(value, 2)
		if !first || !second || len(end) > 0 {
			return 0, charge, false
		}
		charge.Labels = append(charge.Labels, ledger.Label{Key: string(key), Value: string(text)})
		body = rest
	}
	slices.SortFunc(charge.Labels, func(x, y ledger.Label) int { return strings.Compare(x.Key, y.Key) })
	if len(body) > 0 || checkEventNumber("", len(charge.Events)) != nil || checkLabels("", charge.Labels) != nil {
		return 0, charge, false
	}
	return sequence, charge, true
}

// event reads an encoded Event, if it is valid.
func (c *Charges) event(b []byte) (mechanism.Event, bool) {
	if e, ok := c.known[string(b)]; ok {
		return e, true
	}
	var e pb.Event
	if len(b) > maxKnownEventSize || proto.Unmarshal(b, &e) != nil {
		return mechanism.Event{}, false
	}
	events, err := ToEvents(c.adjacency, "", []*pb.Event{&e})
	if err != nil {
		return mechanism.Event{}, false
	}
	if len(c.known) < maxKnownEvents {
		c.known[string(b)] = events[0]
	}
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
