// SPDX-License-Identifier: Apache-2.0

//go:build unix

package blobs_test

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/blobs/blobstest"
)

// What is asked of a place that does not answer ends with its context, long before the place is given up.
func TestHangingPlaces(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "hangs"), 0o600); err != nil { // until somebody writes to it
		t.Fatal(err)
	}
	ended := func(what string, call func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(time.Second/10, cancel).Stop()
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ended("a file", func(ctx context.Context) error {
		_, err := blobs.Dir(dir).Open(ctx, "hangs")
		return err
	})
	b := blobstest.New(t)
	p, err := blobs.At(b.Place)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Put(t.Context(), "a", random(2<<20)); err != nil {
		t.Fatal(err)
	}
	open, cancel := context.WithCancel(t.Context())
	f, err := p.Open(open, "a")
	if err != nil {
		t.Fatal(err)
	}
	b.Hang.Store(true)
	ended("making", p.Make)
	ended("adding", func(ctx context.Context) error { return p.Put(ctx, "b", nil) })
	ended("opening", func(ctx context.Context) error { _, err := p.Open(ctx, "a"); return err })
	ended("listing", func(ctx context.Context) error { _, err := p.List(ctx, ""); return err })
	cancel()
	if n, err := f.ReadAt(make([]byte, 1), 0); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %d, %v", n, err)
	}
}
