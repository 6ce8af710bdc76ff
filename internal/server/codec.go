// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// encoded is a received message that is not decoded yet. Its memory is reused for the next
// message.
type encoded []byte

// codec is gRPC's protobuf codec, which leaves a message that is received into
// an encoded as it is, and tells an answer when it was sent.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if a, ok := v.(*answer); ok {
		return a.encode()
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*encoded)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	n := data.Len()
	*m = slices.Grow((*m)[:0], n)[:n]
	data.CopyTo(*m)
	return nil
}
