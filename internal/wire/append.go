// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// AppendTag appends the tag of a field whose value has its length before it.
func AppendTag(b []byte, n protowire.Number) []byte {
	return protowire.AppendTag(b, n, protowire.BytesType)
}

// AppendNumber appends a whole number as a field. It leaves out 0, as protobuf does.
func AppendNumber(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

// appendEvents appends the canonical encoding of events, of which digests are made. It does
// not depend on protobuf, and is different for different events.
func appendEvents(b []byte, events []mechanism.Event) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(events)))
	for _, e := range events {
		b = binary.BigEndian.AppendUint32(b, e.Count)
		b = appendMechanism(b, e.Mechanism)
	}
	return b
}

// AppendText appends a text to a canonical encoding, with its length before it.
func AppendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

// bit is how a canonical encoding has yes and no: 1 and 0.
func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}
