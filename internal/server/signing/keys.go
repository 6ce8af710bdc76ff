// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// Fingerprint is a SHA-256 of a public key in DER (SubjectPublicKeyInfo).
type Fingerprint = [sha256.Size]byte

// FingerprintOf returns the fingerprint of a private key's public one.
func FingerprintOf(key crypto.Signer) (Fingerprint, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	return sha256.Sum256(der), err
}

const pemKey = "PRIVATE KEY" // PKCS #8

// Key reads the Ed25519 key in a file. If there is no such file it makes one of mode
// 0600, durably and all at once. The caller holds the lock of the data directory.
func Key(path string) (ed25519.PrivateKey, error) {
	key, err := ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	return key, err
}

// ReadKey reads the Ed25519 key in a file (PEM, PKCS #8). It returns an *endpoint.ConfigError for
// a file that others can read, or that has no such key.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if err := endpoint.CheckKeyMode("signing key", path); err != nil {
		return nil, err
	}
	key, err := parseKey(content)
	if err != nil {
		return nil, &endpoint.ConfigError{Field: "signing key", Value: fmt.Sprintf("%s: %v", path, err),
			Allowed: "an Ed25519 key in PEM (PKCS #8), as it was made; without a copy of it, replace it by " +
				"accountantd rotate-key"}
	}
	return key, nil
}

func parseKey(content []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(content)
	if block == nil || block.Type != pemKey || len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes are no single PEM block %q", len(content), pemKey)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a %T", key)
	}
	return private, nil
}

func makeKey(path string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if err := durable.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der})); err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	return key, nil
}
