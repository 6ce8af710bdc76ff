package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The kinds of mechanism are in families, a file mechanism_*.go each with four functions:
// to reads a descriptor, from is its inverse, append makes the canonical encoding and
// record the bytes of package proto. Each makes nothing of another family's kinds. Adding
// a mechanism: a case in each of the four.

// maxNesting bounds mechanisms within mechanisms, and with it the length of a
// field's path. No mechanism is defined that deep.
const maxNesting = 4

const (
	allowedMechanism = "one of the mechanisms of docs/mechanisms.md"
	allowedRequired  = "a finite number > 0 (at least 2.3e-308)"
	allowedPositive  = "a finite number > 0, or absent"
	allowedChance    = "a number in (0, 1), or absent"
)

// ToMechanism converts a descriptor that is valid under at least one adjacency.
// Fields in errors start at the mechanism: "gaussian.sensitivity".
func ToMechanism(m *pb.Mechanism) (mechanism.Mechanism, error) {
	d, err := toMechanism(m, 0)
	if err != nil {
		return nil, err
	}
	if err := checkAnywhere(d); err != nil {
		return nil, err
	}
	return d, nil
}

// checkAnywhere accepts what is valid under at least one adjacency.
func checkAnywhere(m mechanism.Mechanism) error {
	if m == nil {
		return absent("mechanism", allowedMechanism)
	}
	var err error
	for _, adj := range [...]mechanism.Adjacency{mechanism.ZeroOut, mechanism.ReplaceOne, mechanism.AddOrRemoveOne} {
		err = m.Check(adj)
		var elsewhere *mechanism.AdjacencyError
		if err == nil || !errors.As(err, &elsewhere) {
			break
		}
	}
	if err != nil {
		return fromDomain(err)
	}
	return nil
}

// toMechanism converts without a check of ranges, except that what is present
// is not 0.
func toMechanism(m *pb.Mechanism, depth int) (mechanism.Mechanism, error) {
	if err := known("mechanism", m); err != nil {
		return nil, err
	}
	if m.GetKind() == nil {
		return nil, absent("mechanism", allowedMechanism)
	}
	if depth > maxNesting {
		return nil, invalid("mechanism", fmt.Sprintf("nested %d deep", depth), fmt.Sprintf("at most %d deep", maxNesting))
	}
	var f fields
	d := cmp.Or(toNoise(&f, m, depth), toSampling(&f, m, depth), toDeclared(&f, m, depth), toSelection(&f, m, depth), toStructure(&f, m, depth))
	if d == nil {
		return nil, invalid("mechanism", fmt.Sprintf("%T", m.Kind), allowedMechanism)
	}
	if f.err != nil {
		return nil, f.err
	}
	return d, nil
}

// FromMechanism is the inverse of ToMechanism. Of no mechanism it makes nil,
// which every reader refuses.
func FromMechanism(m mechanism.Mechanism) *pb.Mechanism {
	return cmp.Or(fromNoise(m), fromSampling(m), fromDeclared(m), fromSelection(m), fromStructure(m))
}

// appendMechanism appends the canonical encoding of a descriptor: a tag, then
// every parameter in a fixed order and width, 0 for what is not given. Tags are
// never changed or used again.
func appendMechanism(b []byte, m mechanism.Mechanism) []byte {
	encoded := appendNoise(b, m) // not by a table: b would escape to the heap
	if encoded == nil {
		encoded = appendSampling(b, m)
	}
	if encoded == nil {
		encoded = appendDeclared(b, m)
	}
	if encoded == nil {
		encoded = appendSelection(b, m)
	}
	if encoded == nil {
		encoded = appendStructure(b, m)
	}
	if encoded == nil {
		panic(fmt.Sprintf("wire: no canonical encoding of %T", m)) // the interface is sealed: a case is missing
	}
	return encoded
}

func appendFloats(b []byte, values ...float64) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func appendWhole(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// appendNumbers appends a list's canonical encoding: its length and its bits.
func appendNumbers(b []byte, n mechanism.Numbers) []byte {
	return append(appendWhole(b, uint64(n.Len())), n...)
}

func appendParts(b []byte, parts []mechanism.Mechanism) []byte {
	b = appendWhole(b, uint64(len(parts)))
	for _, m := range parts {
		b = appendMechanism(b, m)
	}
	return b
}

// appendRecorded appends the fields of an accountant.v1.Mechanism as package
// proto encodes FromMechanism(m): nothing for no mechanism, which every reader
// refuses.
func appendRecorded(b []byte, m mechanism.Mechanism) []byte {
	var room [128]byte // for the parameters, without an allocation
	kind, p := recordNoise(room[:0], m)
	if kind == 0 {
		kind, p = recordSampling(room[:0], m)
	}
	if kind == 0 {
		kind, p = recordDeclared(room[:0], m)
	}
	if kind == 0 {
		kind, p = recordSelection(room[:0], m)
	}
	if kind == 0 {
		kind, p = recordStructure(room[:0], m)
	}
	if kind == 0 {
		return b
	}
	return protowire.AppendBytes(appendTag(b, kind), p)
}

// appendGiven appends numbers as the fields 1, 2, 3 …, without those that are 0.
func appendGiven(b []byte, values ...float64) []byte { return appendGivenFrom(b, 1, values...) }

// appendGivenFrom is appendGiven with the first field's number.
func appendGivenFrom(b []byte, first protowire.Number, values ...float64) []byte {
	for i, v := range values {
		if v != 0 {
			b = protowire.AppendTag(b, first+protowire.Number(i), protowire.Fixed64Type)
			b = protowire.AppendFixed64(b, math.Float64bits(v))
		}
	}
	return b
}

// appendPacked appends a list as a packed repeated double.
func appendPacked(b []byte, field protowire.Number, n mechanism.Numbers) []byte {
	if n.Len() == 0 {
		return b
	}
	b = protowire.AppendVarint(appendTag(b, field), uint64(len(n)))
	for i := 0; i < len(n); i += 8 { // big-endian to little-endian
		for j := 7; j >= 0; j-- {
			b = append(b, n[i+j])
		}
	}
	return b
}

func appendInner(b []byte, field protowire.Number, m mechanism.Mechanism) []byte {
	if m == nil {
		return b
	}
	var room [64]byte
	return protowire.AppendBytes(appendTag(b, field), appendRecorded(room[:0], m))
}

// appendRecordedParts appends a repeated accountant.v1.Mechanism as package proto does.
func appendRecordedParts(b []byte, field protowire.Number, parts []mechanism.Mechanism) []byte {
	for _, m := range parts {
		b = protowire.AppendBytes(appendTag(b, field), appendRecorded(nil, m))
	}
	return b
}

// appendRecordedEvents appends a repeated accountant.v1.Event as package proto does.
func appendRecordedEvents(b []byte, field protowire.Number, events []mechanism.Event) []byte {
	for _, e := range events {
		var p []byte
		if e.Mechanism != nil {
			p = protowire.AppendBytes(appendTag(p, 1), appendRecorded(nil, e.Mechanism))
		}
		b = protowire.AppendBytes(appendTag(b, field), appendNumber(p, 2, uint64(e.Count)))
	}
	return b
}
