// SPDX-License-Identifier: Apache-2.0

// Package archive keeps what is written to a store in a directory or bucket of segments (package blobs): files that
// never change, each with what came since the one before it. A daemon adds one whenever something was written, and a
// restore makes the store of them again, as it was at the end of any complete one.
//
// It is a package of its own because the store is a file and knows of no directory that outlives it.
package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
)

// magic begins the file of a segment; the SHA-256 of what follows that comes next, and then the message, compressed.
const magic = "accountant segment 1\n"

// maxContent bounds a segment's message in bytes, so that each is read in memory.
const maxContent = 128 << 20

const suffix = ".segment"

// Place is where the segments of an archive are.
type Place struct {
	Dir string    // or a bucket
	Key blobs.Key // that seals new ones, and opens those that are sealed
}

// name is that of a segment's file: the numbers' order is that of the names.
func name(number uint64) string { return fmt.Sprintf("%012d%s", number, suffix) }

// fileOf says which file of a place a segment is in.
func (p Place) fileOf(number uint64) string {
	if blobs.IsBucket(p.Dir) {
		return p.Dir + ": " + name(number)
	}
	return filepath.Join(p.Dir, name(number))
}

var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxContent))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// write makes a segment durable, and returns the SHA-256 of its file.
func (p Place) write(ctx context.Context, s *recordv1.Segment) (sum [sha256.Size]byte, err error) {
	message, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return sum, err
	}
	packed := encoder().EncodeAll(message, nil)
	check := sha256.Sum256(packed)
	content, err := p.Key.Seal(append(append([]byte(magic), check[:]...), packed...))
	if err != nil {
		return sum, err
	}
	at, err := blobs.At(p.Dir)
	if err == nil {
		err = at.Put(ctx, name(s.GetNumber()), content)
	}
	if errors.Is(err, blobs.ErrExists) { // of another daemon, which must not lose it
		err = fmt.Errorf("%s: %w: another daemon writes to this archive", p.fileOf(s.GetNumber()), blobs.ErrExists)
	}
	return sha256.Sum256(content), err
}

// DamagedError is a segment that cannot be used, or that is missing.
type DamagedError struct {
	Path, Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s %s; allowed: all segments of one archive, from the first one on, as the daemon has written "+
		"them; or, for a daemon, another directory that is empty", e.Path, e.Reason)
}

// read returns a segment that follows the one whose file has the SHA-256 previous, with that of its own.
func (p Place) read(ctx context.Context, at blobs.Place, number uint64, previous []byte) (*recordv1.Segment, []byte,
	error) {
	path := p.fileOf(number)
	damaged := func(format string, args ...any) error {
		return &DamagedError{path, fmt.Sprintf(format, args...)}
	}
	content, err := blobs.Read(ctx, at, name(number))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = damaged("is missing")
		}
		return nil, nil, err
	}
	opened, size, err := p.Key.Open(bytes.NewReader(content), int64(len(content)))
	if errors.Is(err, blobs.ErrSealed) {
		err = damaged("%v", err)
	}
	if err != nil {
		return nil, nil, err
	}
	plain := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(opened, 0, size), plain); err != nil {
		return nil, nil, damaged("is damaged: %v", err)
	}
	rest, found := bytes.CutPrefix(plain, []byte(magic))
	if !found || len(rest) < sha256.Size {
		return nil, nil, damaged("is no segment of this version")
	}
	packed := rest[sha256.Size:]
	if check := sha256.Sum256(packed); !bytes.Equal(check[:], rest[:sha256.Size]) {
		return nil, nil, damaged("is damaged: its checksum is wrong")
	}
	message, err := decoder().DecodeAll(packed, nil)
	s := &recordv1.Segment{}
	if err == nil {
		err = proto.Unmarshal(message, s)
	}
	switch {
	case err != nil:
		return nil, nil, damaged("is damaged: %v", err)
	case s.GetNumber() != number:
		return nil, nil, damaged("has the number %d: it was renamed", s.GetNumber())
	case !bytes.Equal(s.GetPrevious(), previous):
		return nil, nil, damaged("does not follow %s: one of them is of another archive, or was put back",
			name(number-1))
	}
	for _, p := range s.GetParts() {
		if n := len(p.GetBefore()); n != sha256.Size {
			return nil, nil, damaged("is damaged: a hash has %d bytes", n)
		}
	}
	sum := sha256.Sum256(content)
	return s, sum[:], nil
}

// written is what a part has of a ledger.
func written(p *recordv1.SegmentPart) persist.Written {
	return persist.Written{Ledger: p.GetLedger(), Genesis: p.GetGenesis(), After: p.GetAfter(),
		Before: ledger.Hash(p.GetBefore()), Entries: p.GetEntries()}
}

// newest is the number of an archive's last segment, 0 if it has none, and the first one before it that is missing, 0
// if none is. Other files, such as the copies that a program makes which synchronizes directories, are not looked at.
func newest(ctx context.Context, at blobs.Place) (last, missing uint64, err error) {
	names, err := at.List(ctx, suffix)
	for _, f := range names { // in order
		var n uint64
		if _, err := fmt.Sscanf(f, "%012d", &n); err != nil || f != name(n) || n == 0 {
			continue
		}
		if n != last+1 && missing == 0 {
			missing = last + 1
		}
		last = n
	}
	return last, missing, err
}

// Each calls f with the segments of an archive in order, checked, and ends where f says so.
func (p Place) Each(ctx context.Context, f func(*recordv1.Segment) (more bool, err error)) error {
	at, err := blobs.At(p.Dir)
	if err != nil {
		return err
	}
	last, _, err := newest(ctx, at) // one that is missing may not be needed
	if err != nil {
		return err
	}
	return p.each(ctx, at, 1, last, nil, func(s *recordv1.Segment, _ []byte) (bool, error) { return f(s) })
}

// each is Each of some segments, of which the first one follows the file with a SHA-256. f also gets each one's own.
func (p Place) each(ctx context.Context, at blobs.Place, first, last uint64, previous []byte,
	f func(s *recordv1.Segment, sum []byte) (more bool, err error)) error {
	store := ""
	for number := first; number <= last; number++ {
		s, sum, err := p.read(ctx, at, number, previous)
		if err != nil {
			return err
		}
		if store == "" {
			store = s.GetStoreId()
		}
		if s.GetStoreId() != store {
			return &DamagedError{p.fileOf(number), "is of store " + s.GetStoreId() + ", and the first one of " + store}
		}
		previous = sum
		if more, err := f(s, sum); err != nil || !more {
			return err
		}
	}
	return nil
}
