// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// So many requests with large bodies as anybody likes to send take the memory of a few: the others wait, and
// are told to come back. Requests with small bodies pass beside them.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, inside := make(chan struct{}), make(chan struct{}, 10*maxLarge)
		c := calls{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			inside <- struct{}{}
			<-release
		}), newPlaces()}
		var names atomic.Int64
		send := func(ctx context.Context, method, body string) int { // each time as somebody else
			ctx = For(ctx, fmt.Sprint("caller ", names.Add(1)))
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, Prefix+"Ledgers/"+method, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			return w.Code
		}
		large := `{"name":"x"}` + strings.Repeat(" ", smallBody)
		codes := make(chan int, 10*maxLarge)
		for range 10 * maxLarge {
			go func() { codes <- send(t.Context(), "GetLedger", large) }()
		}
		synctest.Wait()
		if len(inside) != maxLarge {
			t.Errorf("%d requests with large bodies are under way, want %d", len(inside), maxLarge)
		}
		for range 9 * maxLarge { // placeTime is over for them
			if code := <-codes; code != http.StatusServiceUnavailable {
				t.Errorf("a request too many: %d", code)
			}
		}
		go send(t.Context(), "GetLedger", `{"name":"x"}`)
		synctest.Wait()
		if len(inside) != maxLarge+1 {
			t.Error("a small body waits for large ones")
		}
		close(release)
		for range maxLarge {
			if code := <-codes; code != http.StatusOK {
				t.Errorf("a request with a place: %d", code)
			}
		}
		if code := send(t.Context(), "GetLedger", large); code != http.StatusOK || c.large.Taken() != 0 {
			t.Errorf("afterwards: %d, and %d places are taken", code, c.large.Taken())
		}
		for _, bad := range []string{strings.Repeat(" ", smallBody+1), strings.Repeat("x", 5<<20)} {
			if code := send(t.Context(), "GetLedger", bad); code < 400 || code > 499 || c.large.Taken() != 0 {
				t.Errorf("a bad body: %d, and %d places are taken", code, c.large.Taken())
			}
		}
	})
}

// One caller who sends many large bodies leaves places to others; all who prove nothing count as one caller.
func TestLargeBodiesOfOneCaller(t *testing.T) {
	t.Parallel()
	for _, greedy := range []string{"", "oidc:eve"} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var inside atomic.Int64
			c := calls{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				inside.Add(1)
				<-release
			}), newPlaces()}
			large := `{"name":"x"}` + strings.Repeat(" ", smallBody)
			send := func(caller string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(For(t.Context(), caller), http.MethodPost,
					Prefix+"Ledgers/GetLedger", strings.NewReader(large))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				c.ServeHTTP(w, r)
				return w
			}
			answers := make(chan *httptest.ResponseRecorder, 100)
			for range 100 {
				go func() { answers <- send(greedy) }()
			}
			synctest.Wait()
			if n := inside.Load(); n != maxLargeEach {
				t.Errorf("%q has %d large bodies under way, want %d", greedy, n, maxLargeEach)
			}
			go func() { answers <- send("oidc:ann") }()
			synctest.Wait()
			if n := inside.Load(); n != maxLargeEach+1 {
				t.Errorf("beside %q somebody else waits", greedy)
			}
			for range 100 - maxLargeEach { // placeTime is over for them
				if w := <-answers; w.Code != http.StatusTooManyRequests ||
					!strings.Contains(w.Body.String(), `"RESOURCE_EXHAUSTED"`) ||
					!strings.Contains(w.Body.String(), "allowed: one after the other") {
					t.Fatalf("one too many of %q: %d %s", greedy, w.Code, w.Body)
				}
			}
			close(release)
			for range maxLargeEach + 1 {
				if w := <-answers; w.Code != http.StatusOK {
					t.Errorf("one with a place: %d %s", w.Code, w.Body)
				}
			}
			if n := c.large.Taken(); n != 0 {
				t.Errorf("%d places are taken afterwards", n)
			}
		})
	}
}

// A stream, which may last for days, gives its place back when it begins.
func TestStreamWithLargeBody(t *testing.T) {
	t.Parallel()
	large := newPlaces()
	c := calls{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if large.Taken() != 0 {
			t.Error("a stream holds the place of its request's body")
		}
	}), large}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Prefix+"Ledgers/WatchLedger",
		strings.NewReader(`{"name":"x"}`+strings.Repeat(" ", smallBody)))
	r.Header.Set("Content-Type", "application/json")
	c.ServeHTTP(httptest.NewRecorder(), r)
}
