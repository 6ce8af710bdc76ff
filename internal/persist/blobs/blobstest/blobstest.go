// SPDX-License-Identifier: Apache-2.0

// Package blobstest is an object store for tests, which speaks S3 and can fail.
package blobstest

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is in an object store that lives as long as the test.
type Bucket struct {
	Place string // s3://…
	// Fail is the number of the request, counted from now on, from which on all fail; 0 for none.
	Fail atomic.Int64
	// Hang keeps all requests waiting from then on.
	Hang atomic.Bool
	// Asked is how many requests have come.
	Asked atomic.Int64
	// Read is how many reads of an object have come.
	Read atomic.Int64

	store *s3mem.Backend
}

// Name is that of the bucket.
const Name = "kept"

// New starts an object store with a bucket. It sets the variables that say who may use it.
func New(t *testing.T) *Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
	b := &Bucket{store: s3mem.New()}
	if err := b.store.CreateBucket(Name); err != nil {
		t.Fatal(err)
	}
	serves, ended := gofakes3.New(b.store).Server(), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.Asked.Add(1)
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
			b.Read.Add(1)
		}
		if n := b.Fail.Load(); n == 1 || n > 1 && b.Fail.Add(-1) == 1 {
			w.WriteHeader(http.StatusForbidden) // which is not tried again
			return
		}
		if b.Hang.Load() {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
			return
		}
		serves.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	b.Place = "s3://" + Name + "/some/place?endpoint=" + server.URL
	return b
}

// Remove removes an object.
func (b *Bucket) Remove(t *testing.T, name string) {
	t.Helper()
	if _, err := b.store.DeleteObject(Name, "some/place/"+name); err != nil {
		t.Fatal(err)
	}
}
