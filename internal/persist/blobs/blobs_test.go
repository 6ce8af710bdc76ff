// SPDX-License-Identifier: Apache-2.0

package blobs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/blobs/blobstest"
)

// random are bytes.
func random(n int) []byte {
	content, from := make([]byte, n), rand.New(rand.NewPCG(1, uint64(n)))
	for i := range content {
		content[i] = byte(from.Uint32())
	}
	return content
}

// A directory and a bucket keep the same promises.
func TestPlaces(t *testing.T) {
	for _, place := range []string{filepath.Join(t.TempDir(), "new", "dir"), blobstest.New(t).Place} {
		p, err := blobs.At(place)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Open(t.Context(), "a.x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", place, err)
		}
		content := random(2_000_001)
		if err := p.Put(t.Context(), "b.x", content); err != nil {
			t.Fatal(err)
		}
		if err := p.Put(t.Context(), "b.x", random(5)); !errors.Is(err, blobs.ErrExists) {
			t.Errorf("%s: a second time: %v", place, err)
		}
		if err := errors.Join(p.Put(t.Context(), "a.x", []byte{2}), p.Put(t.Context(), "c.y", []byte{1})); err != nil {
			t.Fatal(err)
		}
		if names, err := p.List(t.Context(), ".x"); err != nil || !slices.Equal(names, []string{"a.x", "b.x"}) {
			t.Errorf("%s: %q, %v", place, names, err)
		}
		f, err := p.Open(t.Context(), "b.x")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, 1_999_990, 600_000, 5} {
			part := make([]byte, 700_000)
			n, err := f.ReadAt(part, int64(at))
			if want := content[at:min(len(content), at+len(part))]; !bytes.Equal(part[:n], want) ||
				(err != nil) != (n < len(part)) {
				t.Errorf("%s: at %d: %d bytes, %v; want %d", place, at, n, err, len(want))
			}
		}
		if err := f.Close(); err != nil || f.Size() != int64(len(content)) {
			t.Error(f.Size(), err)
		}
	}
}

// A place that is wrong, or a bucket that fails, is named.
func TestWrongPlaces(t *testing.T) {
	for place, says := range map[string]string{
		"s3:///x":                 `bucket ""`,
		"s3://b/x?endpoint=h":     "endpoint h",
		"s3://b/x?zone=1":         "zone is unknown",
		"s3://b/x?endpoint=ftp:x": "endpoint ftp:x",

		"s3://b/x?endpoint=https://h/path":       "endpoint https://h",
		"s3://b/x?endpoint=https://h?key=SECRET": "endpoint https://h",
		"s3://b/x?endpoint=h&endpoint=g":         "endpoint is given 2 times",
		"s3://b/x?secret=SECRET":                 "secret is unknown",
		"s3://b/x?region=%zz":                    "invalid URL escape",
		"s3://b:99/x":                            `bucket "b:99"`,
		"s3://b/x#y":                             `"y" after #`,
		"s3:/b/x":                                `bucket ""`,
		"https://b/x":                            "https is unknown",
		"gs://b/x":                               "gs is unknown",
		// They are not shown at all.
		"s3://KEY:SECRET@b/x":                            "AWS_SECRET_ACCESS_KEY",
		"s3://KEY:SEC/RET@b/x":                           "AWS_SECRET_ACCESS_KEY",
		"s3://b/x?endpoint=https://KEY:SECRET@h":         "AWS_SECRET_ACCESS_KEY",
		"s3://b/x?endpoint=https%3a%2f%2fKEY:SECRET%40h": "AWS_SECRET_ACCESS_KEY",
	} {
		if _, err := blobs.At(place); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "allowed: s3://BUCKET/PREFIX") ||
			strings.Contains(strings.ReplaceAll(err.Error(), says, ""), "SEC") {
			t.Errorf("%s: %v", place, err)
		}
	}
	for _, place := range []string{"here", "/mnt/a:/b", "C:/cold", "./s3:/b"} {
		if blobs.IsBucket(place) {
			t.Errorf("%s is taken for a bucket", place)
		}
	}
	b := blobstest.New(t)
	other, err := blobs.At(strings.Replace(b.Place, blobstest.Name, "other", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Make(t.Context()); err == nil || !strings.Contains(err.Error(), "no such bucket") {
		t.Error(err)
	}
	p, err := blobs.At(b.Place)
	if err != nil {
		t.Fatal(err)
	}
	b.Fail.Store(1)
	if err := p.Put(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "s3://kept/some/place/a: ") {
		t.Error(err)
	}
}

// What a key has sealed is opened by it, and by nothing else; each byte that is damaged is noticed where it is read.
func TestKey(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	other, e := age.GenerateHybridIdentity()
	dir := t.TempDir()
	key, wrong := blobs.Key(filepath.Join(dir, "key")), blobs.Key(filepath.Join(dir, "wrong"))
	if err := errors.Join(err, e, os.WriteFile(string(key), []byte("# of a test\n"+identity.String()+"\n"), 0o600),
		os.WriteFile(string(wrong), []byte(other.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	content := random(3000)
	for _, k := range []blobs.Key{"", key, wrong} {
		sealed, err := k.Seal(content)
		if err != nil || bytes.Equal(sealed, content) != (k == "") {
			t.Fatal(k, err)
		}
		open := func(with blobs.Key, sealed []byte) ([]byte, error) {
			from, size, err := with.Open(bytes.NewReader(sealed), int64(len(sealed)))
			if err != nil {
				return nil, err
			}
			out := make([]byte, size)
			_, err = io.ReadFull(io.NewSectionReader(from, 0, size), out)
			return out, err
		}
		if out, err := open(k, sealed); err != nil || !bytes.Equal(out, content) {
			t.Error(k, err)
		}
		if k == "" {
			continue
		}
		for _, with := range []blobs.Key{"", map[blobs.Key]blobs.Key{key: wrong, wrong: key}[k]} {
			if _, err := open(with, sealed); !errors.Is(err, blobs.ErrSealed) {
				t.Errorf("sealed by %q, opened by %q: %v", k, with, err)
			}
		}
		for i := 0; i < len(sealed); i += 1 + len(sealed)/500 {
			damaged := bytes.Clone(sealed)
			damaged[i] ^= 1
			if out, err := open(k, damaged); err == nil && bytes.Equal(out, content) {
				t.Errorf("byte %d of %d: not noticed", i, len(sealed))
			}
		}
	}
	// A new key stands before the one that it follows, of whichever kind: what is sealed then the old one cannot open.
	old, err := key.Seal(content)
	if err != nil {
		t.Fatal(err)
	}
	both := blobs.Key(filepath.Join(dir, "both"))
	if err := os.WriteFile(string(both), []byte(other.String()+"\n"+identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sealed, err := both.Seal(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		with   blobs.Key
		sealed []byte
		opens  bool
	}{{both, old, true}, {both, sealed, true}, {wrong, sealed, true}, {key, sealed, false}} {
		_, _, err := c.with.Open(bytes.NewReader(c.sealed), int64(len(c.sealed)))
		if (err == nil) != c.opens {
			t.Errorf("opened by %s: %v", c.with, err)
		}
	}
	if err := blobs.Key(filepath.Join(dir, "none")).Check(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
