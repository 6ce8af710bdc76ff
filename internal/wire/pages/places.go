// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// placeSize is that of every hidden place before it is encrypted, so that its length tells nothing about the
// name. No name is as long.
const placeSize = 512

// Places hides, in the token of a list's next page, how far the list has been looked through: a page may end at a name
// that its caller may not see, so the token has that name encrypted. All Places that were made with one secret find
// them again. It is safe for concurrent use.
type Places struct{ sealer cipher.AEAD }

// NewPlaces returns Places. Their key is derived from the secret, so that the next page may come from another daemon
// which has the same one. Without a secret the key is new, and is forgotten when the process ends.
func NewPlaces(secret []byte) *Places {
	key := make([]byte, 32)
	if len(secret) == 0 {
		_, _ = rand.Read(key) // never fails, see there
	} else {
		derived, err := hkdf.Key(sha256.New, secret, nil, "accountant: places in lists", len(key))
		if err != nil {
			panic(err) // only for a key that is much longer
		}
		key = derived
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for a key of another length
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for a cipher other than AES
	}
	return &Places{sealer}
}

// Hide returns a place that Find finds again in the same list: the name up to which the list has been
// looked through. Nothing can be learnt from the place without the key.
func (k *Places) Hide(list, name string) string {
	plain := binary.BigEndian.AppendUint16(make([]byte, 0, placeSize), uint16(len(name)))
	plain = append(plain, name...)
	return string(k.sealer.Seal(nil, nil, plain[:placeSize], []byte(list)))
}

// Find returns the name in a place; false if these Places have not hidden it, for this list.
func (k *Places) Find(list, place string) (name string, ok bool) {
	plain, err := k.sealer.Open(nil, nil, []byte(place), []byte(list))
	if err != nil {
		return "", false
	}
	return string(plain[2 : 2+binary.BigEndian.Uint16(plain)]), true
}
