// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// The key is made once, private and whole, and what is no private key is refused.
func TestKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.key")
	if err := os.WriteFile(path+".new", []byte("of a process that died"), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := Key(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if again, err := Key(path); err != nil || !again.Equal(key) {
		t.Errorf("the second time: another key, %v", err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		mode    os.FileMode
		says    string
	}{
		"others can read it":  {whole, 0o644, "mode 0644"},
		"group can change it": {whole, 0o660, "mode 0660"},
		"empty":               {nil, 0o600, "0 bytes are no single PEM block"},
		"cut short":           {whole[:len(whole)/2], 0o600, "no single PEM block"},
		"two":                 {append(bytes.Clone(whole), whole...), 0o600, "no single PEM block"},
		"damaged":             {bytes.Replace(whole, []byte("MC4"), []byte("MD4"), 1), 0o600, "asn1"},
		"another kind": {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
			0o600, "a *rsa.PrivateKey"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "signing.key")
			if err := errors.Join(os.WriteFile(path, c.content, 0o600), os.Chmod(path, c.mode)); err != nil {
				t.Fatal(err)
			}
			_, err := Key(path)
			var setting *endpoint.ConfigError
			if !errors.As(err, &setting) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("%v; want %s", err, c.says)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.content) {
				t.Errorf("it was changed: %v", err)
			}
		})
	}
	if _, err := Key(filepath.Join(path, "x")); err == nil {
		t.Error("made a key where there is no directory")
	}
}
