// SPDX-License-Identifier: Apache-2.0

// Package cold keeps old rows of a store outside of its file, in segments: files in a folder that never change. The
// store's file says where each block of rows lies and which SHA-256 it has, so a segment proves nothing by itself and
// cannot be exchanged. A segment is named by its own SHA-256, so stores may share a folder.
//
// With a key, segments are encrypted by age (age-encryption.org/v1), whose tools open them, too.
package cold

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/dpaccountant/accountant/internal/durable"
)

// Place is where segments are.
type Place struct {
	Dir string
	// Key is the file of the key, as age-keygen makes it. Without one, new segments are not encrypted.
	Key string
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

const (
	suffix  = ".cold"
	ageFile = "age-encryption.org/v1\n" // begins what age has made
)

// MaxBlock bounds a block, so that a wrong reference asks for no more memory.
const MaxBlock = 64 << 20

// path is that of a segment.
func (p Place) path(n Name) string { return filepath.Join(p.Dir, n.String()+suffix) }

// Check reads the key.
func (p Place) Check() error {
	_, err := p.identities()
	return err
}

// identities reads the key.
func (p Place) identities() ([]age.Identity, error) {
	if p.Key == "" {
		return nil, nil
	}
	f, err := os.Open(p.Key)
	if err != nil {
		return nil, fmt.Errorf("the key of cold segments: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	list, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("the key of cold segments: %s: %w; allowed: a file as age-keygen makes it", p.Key, err)
	}
	return list, nil
}

// Write makes a segment durable, and returns once all of it was read back and is the same.
func (p Place) Write(content []byte) (n Name, err error) {
	sealed, err := p.seal(content)
	if err != nil {
		return n, err
	}
	n = sha256.Sum256(sealed)
	path := p.path(n)
	if err := durable.WriteFile(path, sealed); err != nil {
		return n, err
	}
	again, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(again, sealed) {
		err = fmt.Errorf("%s: what was written is not what is read: look at the disk", path)
	}
	return n, err
}

// seal encrypts, if there is a key.
func (p Place) seal(content []byte) ([]byte, error) {
	identities, err := p.identities()
	if err != nil || len(identities) == 0 {
		return content, err
	}
	var to []age.Recipient
	for _, i := range identities {
		switch i := i.(type) {
		case *age.X25519Identity:
			to = append(to, i.Recipient())
		case *age.HybridIdentity:
			to = append(to, i.Recipient())
		}
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to...)
	if err == nil {
		_, err = w.Write(content)
		err = errors.Join(err, w.Close())
	}
	return sealed.Bytes(), err
}

func (p Place) missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("is missing in %s; %w", p.Dir, ErrWrong)
	}
	return err
}

// Read returns a block, which has the SHA-256 of the reference.
func (p Place) Read(r Ref) (block []byte, err error) {
	if r.Length > MaxBlock {
		return nil, fmt.Errorf("has a block of %d bytes; allowed: %d; %w", r.Length, MaxBlock, ErrWrong)
	}
	f, err := os.Open(p.path(r.Segment))
	if err != nil {
		return nil, p.missing(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	from, err := p.open(f)
	if err != nil {
		return nil, err
	}
	block = make([]byte, r.Length)
	_, err = io.ReadFull(io.NewSectionReader(from, int64(r.Offset), int64(r.Length)), block)
	var io *fs.PathError
	switch {
	case errors.As(err, &io):
		return nil, err // the disk's, which may be over
	case err != nil || sha256.Sum256(block) != r.Sum:
		return nil, fmt.Errorf("is damaged in %s; %w", p.Dir, ErrWrong)
	}
	return block, nil
}

// open returns the content of a segment's file.
func (p Place) open(f *os.File) (io.ReaderAt, error) {
	var begins [len(ageFile)]byte
	if _, err := f.ReadAt(begins[:], 0); err != nil || string(begins[:]) != ageFile {
		return f, nil // reading the block says what is wrong, if anything is
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	identities, err := p.identities()
	if err != nil {
		return nil, err
	}
	if len(identities) == 0 {
		return nil, fmt.Errorf("in %s is encrypted, and no key is known; start the daemon with its key", p.Dir)
	}
	from, _, err := age.DecryptReaderAt(f, info.Size(), identities...)
	if err != nil {
		return nil, fmt.Errorf("in %s cannot be decrypted with %s: %s; %w", p.Dir, p.Key,
			strings.TrimPrefix(err.Error(), "age: "), ErrWrong)
	}
	return from, nil
}
