// SPDX-License-Identifier: Apache-2.0

// Package cold keeps old rows of a store outside of its file, in segments (package blobs). The store's file says where
// each block of rows lies and which SHA-256 it has, so a segment proves nothing by itself and cannot be exchanged. A
// segment is named by its own SHA-256, so stores may share a place.
package cold

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/dpaccountant/accountant/internal/persist/blobs"
)

// Place is where segments are.
type Place struct {
	Dir string    // or a bucket
	Key blobs.Key // that seals new ones
}

// Full makes paths absolute.
func (p Place) Full() (full Place, err error) {
	full = p
	if p.Dir != "" {
		full.Dir, err = blobs.Full(p.Dir)
	}
	if err == nil && p.Key != "" {
		var key string
		key, err = filepath.Abs(string(p.Key))
		full.Key = blobs.Key(key)
	}
	return full, err
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

// ErrWrong is a segment whose bytes are not those that were written. Put back as it was, it can be read again. All
// other errors may be over when the place answers again, or has the segment or its key again.
var ErrWrong = errors.New("put it back as it was")

const suffix = ".cold"

// maxBlock bounds a block, so that a wrong reference asks for no more memory.
const maxBlock = 64 << 20

// Make makes the place, if it is a directory that is not there.
func (p Place) Make(ctx context.Context) error {
	at, err := blobs.At(p.Dir)
	if err != nil {
		return err
	}
	return at.Make(ctx)
}

// Write makes a segment durable, and returns once all of it was read back and is the same.
func (p Place) Write(ctx context.Context, content []byte) (n Name, err error) {
	at, err := blobs.At(p.Dir)
	if err != nil {
		return n, err
	}
	sealed, err := p.Key.Seal(content)
	if err != nil {
		return n, err
	}
	n = sha256.Sum256(sealed)
	err = at.Put(ctx, n.String()+suffix, sealed)
	if errors.Is(err, blobs.ErrExists) { // of a daemon that was killed; whoever reads it compares it
		err = nil
	}
	return n, err
}

// Read returns a block, which has the SHA-256 of the reference.
func (p Place) Read(ctx context.Context, r Ref) (block []byte, err error) {
	if r.Length > maxBlock {
		return nil, fmt.Errorf("it has a block of %d bytes; allowed: %d; %w", r.Length, maxBlock, ErrWrong)
	}
	at, err := blobs.At(p.Dir)
	if err != nil {
		return nil, err
	}
	f, err := at.Open(ctx, r.Segment.String()+suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it is missing in %s; put it back", p.Dir)
	}
	if err != nil {
		return nil, err
	}
	tried := &watched{File: f}
	defer f.Close() //nolint:errcheck // it was only read
	from, _, err := p.Key.Open(tried, f.Size())
	switch {
	case tried.failed != nil:
		return nil, tried.failed
	case errors.Is(err, blobs.ErrSealed):
		if err := p.unchanged(tried, r.Segment); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("in %s it %w; put the key back into that file, after newer ones", p.Dir, err)
	case err != nil: // the key cannot be read
		return nil, err
	}
	block = make([]byte, r.Length)
	_, err = io.ReadFull(io.NewSectionReader(from, int64(r.Offset), int64(r.Length)), block)
	if tried.failed != nil {
		return nil, tried.failed // which may be over
	}
	if err != nil || sha256.Sum256(block) != r.Sum {
		return nil, p.damaged()
	}
	return block, nil
}

func (p Place) damaged() error { return fmt.Errorf("it is damaged in %s; %w", p.Dir, ErrWrong) }

// unchanged returns an error unless a segment has the bytes that were written: then another key has sealed it.
func (p Place) unchanged(f *watched, n Name) error {
	sum := sha256.New()
	_, err := io.Copy(sum, io.NewSectionReader(f, 0, f.Size()))
	switch {
	case err != nil:
		return err
	case Name(sum.Sum(nil)) != n:
		return p.damaged()
	}
	return nil
}

// Missing returns those of some segments that the place does not have. Whether they are whole it does not say.
func (p Place) Missing(ctx context.Context, needed []Name) (missing []Name, err error) {
	at, err := blobs.At(p.Dir)
	if err != nil {
		return nil, err
	}
	names, err := at.List(ctx, suffix) // sorted
	if err != nil {
		return nil, err
	}
	for _, n := range needed {
		if _, found := slices.BinarySearch(names, n.String()+suffix); !found {
			missing = append(missing, n)
		}
	}
	return missing, nil
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
