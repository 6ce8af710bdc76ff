package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func appendTag(b []byte, n protowire.Number) []byte {
	return protowire.AppendTag(b, n, protowire.BytesType)
}

// appendNumber leaves out 0, as protobuf does.
func appendNumber(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func appendEvents(b []byte, events []mechanism.Event) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(events)))
	for _, e := range events {
		b = binary.BigEndian.AppendUint32(b, e.Count)
		b = appendMechanism(b, e.Mechanism)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}
