// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

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

func (k Key) identities() ([]age.Identity, error) {
	if k == "" {
		return nil, nil
	}
	f, err := os.Open(string(k))
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	list, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("the key: %s: %w; allowed: a file as age-keygen makes it", k, err)
	}
	return list, nil
}

// Seal encrypts, if there is a key.
func (k Key) Seal(content []byte) ([]byte, error) {
	identities, err := k.identities()
	if err != nil || len(identities) == 0 {
		return content, err
	}
	var to age.Recipient
	switch i := identities[0].(type) {
	case *age.X25519Identity:
		to = i.Recipient()
	case *age.HybridIdentity:
		to = i.Recipient()
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
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
