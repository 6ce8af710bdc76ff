// SPDX-License-Identifier: Apache-2.0

package bearer

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxKeys    = 100  // of one issuer
	minRSABits = 2048 // NIST SP 800-131A
)

// keySet holds an issuer's public keys. It is never changed.
type keySet struct {
	content string // that it was read from
	byID    map[string][]jose.JSONWebKey
	only    *jose.JSONWebKey // if there is one key
	left    int              // how many keys of the content cannot be used
}

// readKeys reads a JSON Web Key Set (RFC 7517). Keys that are for something else, too weak or of an
// unknown type are left out, as the RFC asks (§5). A set without any other is an error.
func readKeys(content []byte) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(content, &raw); err != nil {
		return nil, errors.New("not a JSON Web Key Set, an object with the list \"keys\"")
	}
	if len(raw.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys; allowed: at most %d", len(raw.Keys), maxKeys)
	}
	s := &keySet{content: string(content), byID: map[string][]jose.JSONWebKey{}}
	var why []string
	for i, r := range raw.Keys {
		var key jose.JSONWebKey
		err := json.Unmarshal(r, &key)
		if err == nil {
			err = usable(key)
		} else {
			err = errors.New("its type is unknown, or it is broken")
		}
		if err != nil {
			why = append(why, fmt.Sprintf("key %d: %v", i+1, err))
			continue
		}
		s.byID[key.KeyID] = append(s.byID[key.KeyID], key)
		s.only = &key
	}
	s.left = len(why)
	switch len(raw.Keys) - s.left {
	case 0:
		return nil, fmt.Errorf("no key that can verify a token; %s", strings.Join(append(why, allowedKeys), "; "))
	case 1:
	default:
		s.only = nil
	}
	return s, nil
}

const allowedKeys = "allowed: public keys for signatures, RSA of 2,048 bits or more, P-256, P-384, P-521 or Ed25519"

// usable says what is wrong with a key. Its text has nothing of the key.
func usable(key jose.JSONWebKey) error {
	switch {
	case !key.IsPublic():
		return errors.New("it is secret; what verifies tokens is public")
	case !key.Valid():
		return errors.New("it is broken")
	case key.Use != "" && key.Use != "sig":
		return errors.New("it is not for signatures")
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSABits {
			return fmt.Errorf("it is an RSA key of %d bits; allowed: %d or more", n, minRSABits)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return errors.New("its type is not taken")
	}
	return nil
}

// fits reports whether a key may verify a signature by an algorithm. A key verifies by its own kind of
// algorithm only, and where the issuer names one, only by that.
func fits(key jose.JSONWebKey, algorithm string) bool {
	if key.Algorithm != "" && key.Algorithm != algorithm {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// find returns the key that a token's header names. Without a name it is the only key of the set, so
// that one token never has many keys tried.
func (s *keySet) find(id, algorithm string) (key jose.JSONWebKey, named bool) {
	list := s.byID[id]
	if id == "" {
		list = nil
		if s.only != nil {
			list = []jose.JSONWebKey{*s.only}
		}
	}
	for _, k := range list {
		if fits(k, algorithm) {
			return k, true
		}
	}
	return jose.JSONWebKey{}, len(list) > 0
}

// has reports whether a token with this key identifier can be looked up without asking the issuer again.
func (s *keySet) has(id string) bool { return id == "" && s.only != nil || len(s.byID[id]) > 0 }
