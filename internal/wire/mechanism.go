// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// Descriptors are converted by the tables of their kinds (mechanism.Kind): nothing here knows
// a kind. A parameter is converted by the form of its type (parameter.go).

// maxNesting bounds mechanisms within mechanisms, and with it the length of a
// field's path. No mechanism is defined that deep.
const maxNesting = 4

const allowedMechanism = "one of the mechanisms of docs/mechanisms.md"

// ToMechanism converts a descriptor that is valid under at least one adjacency.
// Fields in errors start at the mechanism: "gaussian.sensitivity".
func ToMechanism(m *pb.Mechanism) (mechanism.Mechanism, error) {
	d, err := toMechanism(m, 0)
	if err != nil {
		return nil, err
	}
	if err := CheckMechanism(d); err != nil {
		return nil, err
	}
	return d, nil
}

// CheckMechanism accepts what is valid under at least one adjacency.
func CheckMechanism(m mechanism.Mechanism) error {
	if m == nil {
		return Absent("mechanism", allowedMechanism)
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
		return FromDomain(err)
	}
	return nil
}

// ToIncompleteMechanism converts a mechanism of which a parameter is still to be found. It does not
// check ranges, except that a parameter that is present is not 0.
func ToIncompleteMechanism(m *pb.Mechanism) (mechanism.Mechanism, error) { return toMechanism(m, 0) }

// toMechanism converts without a check of ranges, except that what is present
// is not 0.
func toMechanism(m *pb.Mechanism, depth int) (mechanism.Mechanism, error) {
	if err := Known("mechanism", m); err != nil {
		return nil, err
	}
	alternative := m.ProtoReflect().WhichOneof(alternatives())
	if alternative == nil {
		return nil, Absent("mechanism", allowedMechanism)
	}
	if depth > maxNesting {
		return nil, Invalid("mechanism", fmt.Sprintf("nested %d deep", depth),
			fmt.Sprintf("at most %d deep", maxNesting))
	}
	k := mechanism.KindNumbered(int(alternative.Number()))
	if k == nil {
		return nil, Invalid("mechanism", string(alternative.Name()), allowedMechanism)
	}
	message := m.ProtoReflect().Get(alternative).Message()
	if err := Known(k.Name, message.Interface()); err != nil {
		return nil, err
	}
	r := reader{kind: k, depth: depth}
	fields := message.Descriptor().Fields()
	d := k.New(func(p *table.Parameter, into reflect.Value) {
		if r.err == nil {
			r.parameter = p
			formOf(p).read(&r, message, fields.ByNumber(protowire.Number(p.Number)), into)
		}
	})
	if r.err != nil {
		return nil, r.err
	}
	return d, nil
}

// alternatives is the oneof of all kinds.
var alternatives = sync.OnceValue(func() protoreflect.OneofDescriptor {
	return (*pb.Mechanism)(nil).ProtoReflect().Descriptor().Oneofs().ByName("kind")
})

// FromMechanism is the inverse of ToMechanism. Of no mechanism it makes nil,
// which every reader refuses.
func FromMechanism(m mechanism.Mechanism) *pb.Mechanism {
	k := mechanism.KindOf(m)
	if k == nil {
		return nil
	}
	out := new(pb.Mechanism)
	alternative := alternatives().Fields().ByNumber(protowire.Number(k.Number))
	message, d := out.ProtoReflect().Mutable(alternative).Message(), reflect.ValueOf(m)
	for i := range k.Parameters {
		p := &k.Parameters[i]
		if v := p.Of(d); !v.IsZero() {
			formOf(p).write(v, message, alternative.Message().Fields().ByNumber(protowire.Number(p.Number)))
		}
	}
	return out
}

// mostKinds bounds the numbers of kinds, which are a byte of the encoding.
const mostKinds = 256

// appendMechanism appends the canonical encoding of a descriptor: its kind's number, then
// every parameter in the order of the table, with a fixed width or its length before it, 0 for
// what is not given.
func appendMechanism(b []byte, m mechanism.Mechanism) []byte {
	k := mechanism.KindOf(m)
	if k == nil {
		panic(fmt.Sprintf("wire: no canonical encoding of %T", m)) // the kinds are those of package mechanism
	}
	b = append(b, byte(k.Number))
	d := reflect.ValueOf(m)
	for i := range k.Parameters {
		p := &k.Parameters[i]
		b = formOf(p).canonical(b, p.Of(d))
	}
	return b
}

// AppendRecorded appends the fields of an accountant.v1.Mechanism as package
// proto encodes FromMechanism(m): nothing for no mechanism, which every reader
// refuses.
func AppendRecorded(b []byte, m mechanism.Mechanism) []byte {
	k := mechanism.KindOf(m)
	if k == nil {
		return b
	}
	var room [128]byte // for the parameters, without an allocation
	body, d := room[:0], reflect.ValueOf(m)
	for _, p := range byNumber[k.Number] {
		if v := p.Of(d); !v.IsZero() {
			body = formOf(p).record(body, protowire.Number(p.Number), v)
		}
	}
	return protowire.AppendBytes(AppendTag(b, protowire.Number(k.Number)), body)
}

// byNumber holds the parameters of each kind in the order of their numbers, as package proto
// writes them, at the kind's number.
var byNumber = func() (all [mostKinds][]*table.Parameter) {
	for _, k := range mechanism.Kinds() {
		for i := range k.Parameters {
			all[k.Number] = append(all[k.Number], &k.Parameters[i])
		}
		slices.SortFunc(all[k.Number], func(a, b *table.Parameter) int { return cmp.Compare(a.Number, b.Number) })
	}
	return all
}()
