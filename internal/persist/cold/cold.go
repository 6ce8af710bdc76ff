// SPDX-License-Identifier: Apache-2.0

// Package cold keeps old rows of a store outside of its file, in segments (package blobs). The store's file says where
// each block of rows lies and which SHA-256 it has, so a segment proves nothing by itself and cannot be exchanged. A
// segment is named by its own SHA-256, so stores may share a place.
package cold

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/dpaccountant/accountant/internal/persist/blobs"
)

// Place is where segments are.
type Place struct {
	Dir string    // or a bucket
	Key blobs.Key // that seals new ones
}

// Name is a segment's: the SHA-256 of its file.
type Name [sha256.Size]byte

func (n Name) String() string { return hex.EncodeToString(n[:]) }

// Ref says where a block of bytes is.
type Ref struct {
	Segment        Name
	Offset, Length uint64 // in the segment's content
	Sum            [sha256.Size]byte
}

// ErrWrong is a segment that is missing, or is not the one that was written. Put back as it was, it can be read again.
var ErrWrong = errors.New("put it back")

const suffix = ".cold"

// MaxBlock bounds a block, so that a wrong reference asks for no more memory.
const MaxBlock = 64 << 20

// Make makes the place, if it is a directory that is not there.
func (p Place) Make() error {
	at, err := blobs.At(p.Dir)
	if err != nil {
		return err
	}
	return at.Make()
}

// Write makes a segment durable, and returns once all of it was read back and is the same.
func (p Place) Write(content []byte) (n Name, err error) {
	at, err := blobs.At(p.Dir)
	if err != nil {
		return n, err
	}
	sealed, err := p.Key.Seal(content)
	if err != nil {
		return n, err
	}
	n = sha256.Sum256(sealed)
	err = at.Put(n.String()+suffix, sealed)
	if errors.Is(err, blobs.ErrExists) { // of a daemon that was killed; whoever reads it compares it
		err = nil
	}
	return n, err
}

// Read returns a block, which has the SHA-256 of the reference.
func (p Place) Read(r Ref) (block []byte, err error) {
	if r.Length > MaxBlock {
		return nil, fmt.Errorf("has a block of %d bytes; allowed: %d; %w", r.Length, MaxBlock, ErrWrong)
	}
	at, err := blobs.At(p.Dir)
	if err != nil {
		return nil, err
	}
	f, err := at.Open(r.Segment.String() + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("is missing in %s; %w", p.Dir, ErrWrong)
	}
	if err != nil {
		return nil, err
	}
	tried := &watched{File: f}
	defer f.Close() //nolint:errcheck // it was only read
	from, _, err := p.Key.Open(tried, f.Size())
	if errors.Is(err, blobs.ErrSealed) && tried.failed == nil {
		return nil, fmt.Errorf("in %s %w; give its key, or %w", p.Dir, err, ErrWrong)
	}
	if err != nil {
		return nil, err
	}
	block = make([]byte, r.Length)
	_, err = io.ReadFull(io.NewSectionReader(from, int64(r.Offset), int64(r.Length)), block)
	if tried.failed != nil {
		return nil, tried.failed // which may be over
	}
	if err != nil || sha256.Sum256(block) != r.Sum {
		return nil, fmt.Errorf("is damaged in %s; %w", p.Dir, ErrWrong)
	}
	return block, nil
}

// watched remembers whether reading failed, which is no damage.
type watched struct {
	blobs.File
	failed error
}

// ReadAt implements io.ReaderAt.
func (w *watched) ReadAt(p []byte, at int64) (int, error) {
	n, err := w.File.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}
