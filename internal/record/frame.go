// SPDX-License-Identifier: Apache-2.0

package record

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/wire"
)

// Frame is what the bytes of an entry say before its action, as MarshalEntry writes them.
type Frame[T string | []byte] struct {
	Position          uint64
	Principal, Writer T
	Sequence          uint64
	Nanos             uint64 // the time as it is written
	PreviousOfWriter  uint64 // the position
	Policy            uint64 // the position
}

// The numbers of a frame's fields.
const (
	framePosition = protowire.Number(iota + 1)
	framePrincipal
	frameWriter
	frameSequence
	frameNanos
	framePreviousOfWriter
	framePolicy
)

// Append appends the frame's bytes.
func (f Frame[T]) Append(b []byte) []byte {
	b = wire.AppendNumber(b, framePosition, f.Position)
	b = appendText(b, framePrincipal, f.Principal)
	b = appendText(b, frameWriter, f.Writer)
	b = wire.AppendNumber(b, frameSequence, f.Sequence)
	b = wire.AppendNumber(b, frameNanos, f.Nanos)
	b = wire.AppendNumber(b, framePreviousOfWriter, f.PreviousOfWriter)
	return wire.AppendNumber(b, framePolicy, f.Policy)
}

// SplitEntry divides an entry's bytes into its frame and the rest, which refer to raw. It understands bytes that
// MarshalEntry has made. Of others, the frame and the rest put together may not be the same bytes.
func SplitEntry(raw []byte) (f Frame[[]byte], rest []byte) {
	r := fields{rest: raw}
	f.Position = r.number(framePosition)
	f.Principal = r.bytes(framePrincipal)
	f.Writer = r.bytes(frameWriter)
	f.Sequence = r.number(frameSequence)
	f.Nanos = r.number(frameNanos)
	f.PreviousOfWriter = r.number(framePreviousOfWriter)
	f.Policy = r.number(framePolicy)
	if r.bad {
		return f, nil
	}
	return f, r.rest
}

// appendText leaves out the empty text, as protobuf does.
func appendText[T string | []byte](b []byte, n protowire.Number, s T) []byte {
	if len(s) == 0 {
		return b
	}
	return append(protowire.AppendVarint(wire.AppendTag(b, n), uint64(len(s))), s...)
}
