// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

var errCut = errors.New("it is cut short, too long or out of range")

// worth is how many bytes in columns are compressed: fewer hardly shrink.
const worth = 128

// Both are made once, keep no state between calls, and may be used by many at a time.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithSingleSegment(true), zstd.WithWindowSize(64<<10), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			panic(err) // the options are right
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(limitBytes),
			zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err) // the options are right
		}
		return d
	})
)

// compress returns b compressed, in room, or nil if that saves too little.
func compress(b, room []byte) []byte {
	if len(b) < worth {
		return nil
	}
	small := encoder().EncodeAll(b, room)
	if len(small) > len(b)-len(b)/8 {
		return nil
	}
	return small
}

// decompress returns the bytes, which must be as many as there is room for.
func decompress(b, room []byte) ([]byte, error) {
	out, err := decoder().DecodeAll(b, room)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	if len(out) != cap(room) {
		return nil, errCut
	}
	return out, nil
}
