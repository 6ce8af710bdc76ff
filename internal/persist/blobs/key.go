// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// Key is the path of a file with a key of age (age-encryption.org/v1), as age-keygen makes it, whose tools open what it
// has sealed, too. Without one nothing is encrypted. If a file has several keys, the first one seals, so an earlier one
// opens nothing new, and all of them open.
type Key string

// begins is how files begin that age has made.
const begins = "age-encryption.org/v1\n"

// ErrSealed is something that is encrypted and cannot be opened.
var ErrSealed = errors.New("is encrypted")

// Check reads the key.
func (k Key) Check() error {
	_, err := k.identities()
	return err
}

// Prints are fingerprints of keys, each followed by a blank.
type Prints string

// Sealing is the fingerprint of the key that seals; empty if none does.
func (k Key) Sealing() (p Prints, err error) {
	identities, err := k.identities()
	if len(identities) > 0 {
		p = printOf(identities[0])
	}
	return p, err
}

func printOf(i age.Identity) Prints {
	sum := sha256.Sum256([]byte(recipient(i).(fmt.Stringer).String()))
	return Prints(fmt.Sprintf("%x ", sum[:8]))
}

// With adds fingerprints, each once.
func (p Prints) With(more Prints) Prints {
	for each := range strings.SplitAfterSeq(string(more), " ") {
		if !strings.Contains(string(p), each) {
			p += Prints(each)
		}
	}
	return p
}

// Has returns an error unless all of these keys are there: what they have sealed cannot be opened without them.
func (k Key) Has(all Prints) error {
	identities, err := k.identities()
	if err != nil || all == "" {
		return err
	}
	var there Prints
	for _, i := range identities {
		there = there.With(printOf(i))
	}
	if with := there.With(all); with != there {
		return fmt.Errorf("the key: %q lacks a key that has sealed what is there, with the fingerprint %s; put it "+
			"back, after newer ones", string(k), strings.TrimSpace(string(with[len(there):])))
	}
	return nil
}

func (k Key) identities() ([]age.Identity, error) {
	if k == "" {
		return nil, nil
	}
	f, err := os.Open(string(k))
	if err != nil {
		return nil, fmt.Errorf("the key: %w; allowed: a file as age-keygen makes it", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	list, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("the key: %s: %w; allowed: a file as age-keygen makes it", k, err)
	}
	return list, nil
}

// recipient is for whom a key seals.
func recipient(i age.Identity) (to age.Recipient) {
	switch i := i.(type) {
	case *age.X25519Identity:
		to = i.Recipient()
	case *age.HybridIdentity:
		to = i.Recipient()
	}
	return to
}

// Seal encrypts, if there is a key.
func (k Key) Seal(content []byte) ([]byte, error) {
	identities, err := k.identities()
	if err != nil || len(identities) == 0 {
		return content, err
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, recipient(identities[0]))
	if err == nil {
		_, err = w.Write(content)
		err = errors.Join(err, w.Close())
	}
	return sealed.Bytes(), err
}

// Open returns the content of what Seal has made, with this key or without one.
func (k Key) Open(sealed io.ReaderAt, size int64) (content io.ReaderAt, contentSize int64, err error) {
	var head [len(begins)]byte
	if n, err := sealed.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	} else if string(head[:n]) != begins {
		return sealed, size, nil
	}
	identities, err := k.identities()
	if err != nil {
		return nil, 0, err
	}
	if len(identities) == 0 {
		return nil, 0, fmt.Errorf("%w, and no key was given", ErrSealed)
	}
	content, contentSize, err = age.DecryptReaderAt(sealed, size, identities...)
	if err != nil {
		return nil, 0, fmt.Errorf("%w and cannot be opened with %s: %w", ErrSealed, k, err)
	}
	return content, contentSize, nil
}
