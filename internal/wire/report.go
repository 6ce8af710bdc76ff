package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Report is an encoded ReportRequest of which only the charge is still to be read,
// by the ledger's Charges. Nothing is checked yet.
type Report struct {
	ledger, writer string
	sequence       uint64
	checkOnly      bool
	charge         []byte // lies in the message
}

// GetLedger is as of a ReportRequest, like the others.
func (r *Report) GetLedger() string { return r.ledger }

// GetWriter is the writer's name.
func (r *Report) GetWriter() string { return r.writer }

// GetSequence is the number in the lane.
func (r *Report) GetSequence() uint64 { return r.sequence }

// GetCheckOnly is whether nothing is to be written.
func (r *Report) GetCheckOnly() bool { return r.checkOnly }

// GetLastReceipt is nil: a report that carries one is decoded in full.
func (r *Report) GetLastReceipt() *pb.Receipt { return nil }

// ReadReport reads an encoded ReportRequest in the order and without the rarities
// that protobuf allows. ok is false for every other message; the caller decodes
// those, and what is too large, in full to find out what they are.
func ReadReport(b []byte) (r Report, ok bool) {
	if len(b) > MaxRequestBytes {
		return r, false
	}
	name, b, ok := field(b, 1) // ReportRequest.ledger
	if !ok {
		return r, false
	}
	writer, b, ok := field(b, 2) // ReportRequest.writer
	if !ok || !utf8.Valid(name) || !utf8.Valid(writer) {
		return r, false
	}
	r.ledger, r.writer = string(name), string(writer)
	if r.sequence, b, ok = number(b, 3); !ok { // ReportRequest.sequence
		return r, false
	}
	if r.charge, b, ok = field(b, 4); !ok { // ReportRequest.charge
		return r, false
	}
	if check, rest, ok := number(b, 5); ok && check == 1 { // ReportRequest.check_only
		r.checkOnly, b = true, rest
	}
	return r, len(b) == 0
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
