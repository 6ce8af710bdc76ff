// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Report is an encoded ReportRequest of which only the charge is still to be read.
// Nothing is checked yet.
type Report struct {
	Lane   Lane
	Charge []byte // lies in the message
}

// Lane is a pb.Lane without a receipt.
type Lane struct {
	Ledger, Writer string
	Sequence       uint64
	CheckOnly      bool
}

// GetLedger and the getters below behave like those of pb.Lane.
func (l *Lane) GetLedger() string { return l.Ledger }

// GetWriter returns the writer's name.
func (l *Lane) GetWriter() string { return l.Writer }

// GetSequence returns the sequence number in the lane.
func (l *Lane) GetSequence() uint64 { return l.Sequence }

// GetCheckOnly reports whether the action is only to be checked and nothing written.
func (l *Lane) GetCheckOnly() bool { return l.CheckOnly }

// GetLastReceipt returns nil, because a report that carries a receipt is decoded in full.
func (l *Lane) GetLastReceipt() *pb.Receipt { return nil }

// ReadReport reads an encoded ReportRequest whose fields are in ascending order, as encoders write them,
// and which has none of the rarer forms that protobuf allows. For every other message, and for one that
// is too large, ok is false, and the caller decodes the message in full.
//
// It is a second decoder, and stays for its speed: where each message was decoded in full, 1,000 callers at once took
// 69 in the place of 54 µs of the server's CPU a report (medians of seven runs in turns).
func ReadReport(b []byte) (r Report, ok bool) {
	if len(b) > MaxRequestBytes {
		return r, false
	}
	lane, b, ok := field(b, 1) // ReportRequest.lane
	if !ok {
		return r, false
	}
	if r.Charge, b, ok = field(b, 2); !ok || len(b) > 0 { // ReportRequest.charge
		return r, false
	}
	name, lane, ok := field(lane, 1) // Lane.ledger
	if !ok {
		return r, false
	}
	writer, lane, ok := field(lane, 2) // Lane.writer
	if !ok || !utf8.Valid(name) || !utf8.Valid(writer) {
		return r, false
	}
	r.Lane.Ledger, r.Lane.Writer = string(name), string(writer)
	if r.Lane.Sequence, lane, ok = number(lane, 3); !ok { // Lane.sequence
		return r, false
	}
	if check, rest, ok := number(lane, 5); ok && check == 1 { // Lane.check_only
		r.Lane.CheckOnly, lane = true, rest
	}
	return r, len(lane) == 0
}

// NamesLedgers reports whether an encoded ReportRequest has a lane with several ledgers. It is false where the bytes
// are no message.
func NamesLedgers(b []byte) (found bool) {
	EachField(b, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number != 1 || kind != protowire.BytesType { // ReportRequest.lane
			return
		}
		lane, _ := protowire.ConsumeBytes(value)
		EachField(lane, func(number protowire.Number, _ protowire.Type, _ []byte) {
			found = found || number == 6 // Lane.ledgers
		})
	})
	return found
}

// EachField gives f the fields of a message in their order. It ends with false where the bytes are no message.
func EachField(b []byte, f func(protowire.Number, protowire.Type, []byte)) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		m := protowire.ConsumeFieldValue(number, kind, b[n:])
		if m < 0 {
			return false
		}
		f(number, kind, b[n:n+m])
		b = b[n+m:]
	}
	return true
}

// number splits off a field of a number, if b begins with one of this number.
func number(b []byte, want protowire.Number) (value uint64, rest []byte, ok bool) {
	got, kind, n := protowire.ConsumeTag(b)
	if n < 0 || got != want || kind != protowire.VarintType {
		return 0, nil, false
	}
	value, m := protowire.ConsumeVarint(b[n:])
	if m < 0 {
		return 0, nil, false
	}
	return value, b[n+m:], true
}
