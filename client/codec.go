// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// frozen is an encoded request, whose bytes never change. A write is encoded once, when the
// client takes it, so that every attempt sends the same content even if the caller changes its
// messages afterwards.
type frozen []byte

// frozenCodec is gRPC's protobuf codec, which sends frozen requests as well as messages.
type frozenCodec struct{ encoding.CodecV2 }

func newFrozenCodec() frozenCodec { return frozenCodec{encoding.GetCodecV2(proto.Name)} }

// asFrozen is the call option that lets a call send frozen requests.
func asFrozen() grpc.CallOption { return grpc.ForceCodecV2(newFrozenCodec()) }

func (c frozenCodec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(frozen); ok {
		return mem.BufferSlice{mem.SliceBuffer(f)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// maxMessage is gRPC's default limit for a received message, which the daemon keeps. A larger
// message would end the whole stream, and nobody could tell which charge was at fault.
const maxMessage = 4 << 20

// envelope bounds what a request adds to the charge inside it: names, the writer, numbers and
// field tags.
const envelope = 1024

// freeze encodes a message, or returns the reason why it cannot be sent.
func freeze(op, ledger string, m protobuf.Message) (frozen, error) {
	b, err := protobuf.Marshal(m)
	if err != nil {
		return nil, invalid(op, ledger, fmt.Sprintf("request: %v; allowed: text in UTF-8", err))
	}
	if err := checkSize(op, ledger, len(b)); err != nil {
		return nil, err
	}
	return b, nil
}

// freezeCharge encodes a charge, as freeze does for other messages. Package proto takes as long
// for a map of two labels as for everything else, so labels are encoded here.
func freezeCharge(op, ledger string, c *pb.Charge) (frozen, error) {
	b, err := freeze(op, ledger, &pb.Charge{Events: c.GetEvents()})
	if err != nil {
		return nil, err
	}
	for k, v := range c.GetLabels() {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return freeze(op, ledger, c) // says what is wrong
		}
		n := protowire.SizeTag(1) + protowire.SizeBytes(len(k)) + protowire.SizeTag(2) + protowire.SizeBytes(len(v))
		b = protowire.AppendTag(b, fieldLabels, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(n))
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), k)
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), v)
	}
	return b, checkSize(op, ledger, len(b))
}

// with appends the receipt r to an encoded request: a lane with nothing else, which protobuf merges with the request's
// own. A nil r adds nothing.
func (f frozen) with(r *pb.Receipt) frozen {
	if r == nil {
		return f
	}
	b, err := protobuf.Marshal(r)
	if err != nil { // a name that is no text: the daemon refuses the request itself
		return f
	}
	lane := protowire.AppendBytes(protowire.AppendTag(nil, fieldLastReceipt, protowire.BytesType), b)
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(f), fieldLane, protowire.BytesType), lane)
}

func checkSize(op, ledger string, n int) error {
	if n <= maxMessage {
		return nil
	}
	e := invalid(op, ledger, fmt.Sprintf("request: %d bytes; allowed: at most %d", n, maxMessage))
	e.cause = ErrTooLarge
	return e
}

// The field numbers of ReportStreamRequest, and those of SequencedCharge, which
// the other sequenced messages share.
const (
	fieldStreamCharge  = 2
	fieldStreamReserve = 3
	fieldStreamCommit  = 4
	fieldStreamRelease = 5

	fieldSequence = 1
	fieldContent  = 2

	fieldLabels = 2 // of Charge

	fieldLane        = 1 // of the requests of writes
	fieldLastReceipt = 4 // of Lane
)

// freezeMessage encodes a ReportStreamRequest around an encoded Charge, Reserve,
// Commit or Release. The sequence number is known only under the stream's lock;
// what takes time, the content itself, is encoded before.
func freezeMessage(field int, sequence uint64, content frozen) frozen {
	outer := protowire.Number(field)
	inner := protowire.SizeTag(fieldSequence) + protowire.SizeVarint(sequence) +
		protowire.SizeTag(fieldContent) + protowire.SizeBytes(len(content))
	b := make([]byte, 0, protowire.SizeTag(outer)+protowire.SizeBytes(inner))
	b = protowire.AppendTag(b, outer, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(inner))
	b = protowire.AppendTag(b, fieldSequence, protowire.VarintType)
	b = protowire.AppendVarint(b, sequence)
	b = protowire.AppendTag(b, fieldContent, protowire.BytesType)
	return protowire.AppendBytes(b, content)
}

// thawMessage decodes a frozen message of a stream.
func thawMessage(b frozen) Write {
	var m pb.ReportStreamRequest
	_ = protobuf.Unmarshal(b, &m) // never fails: these bytes are our own
	switch k := m.GetMessage().(type) {
	case *pb.ReportStreamRequest_Reserve:
		return Write{Action: k.Reserve.GetReserve()}
	case *pb.ReportStreamRequest_Commit:
		return Write{Action: k.Commit.GetCommit()}
	case *pb.ReportStreamRequest_Release:
		return Write{Action: k.Release.GetRelease()}
	}
	return Write{Action: m.GetCharge().GetCharge()}
}
