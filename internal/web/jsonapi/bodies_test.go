package jsonapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
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
		}), make(places, maxLarge)}
		send := func(ctx context.Context, method, body string) int {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, Prefix+method, strings.NewReader(body))
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
		if code := send(t.Context(), "GetLedger", large); code != http.StatusOK || len(c.large) != 0 {
			t.Errorf("afterwards: %d, and %d places are taken", code, len(c.large))
		}
		for _, bad := range []string{strings.Repeat(" ", smallBody+1), strings.Repeat("x", 5<<20)} {
			if code := send(t.Context(), "GetLedger", bad); code < 400 || code > 499 || len(c.large) != 0 {
				t.Errorf("a bad body: %d, and %d places are taken", code, len(c.large))
			}
		}
	})
}

// A stream, which may last for days, gives its place back when it begins.
func TestStreamWithLargeBody(t *testing.T) {
	t.Parallel()
	large := make(places, maxLarge)
	c := calls{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if len(large) != 0 {
			t.Error("a stream holds the place of its request's body")
		}
	}), large}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Prefix+"WatchLedger",
		strings.NewReader(`{"name":"x"}`+strings.Repeat(" ", smallBody)))
	r.Header.Set("Content-Type", "application/json")
	c.ServeHTTP(httptest.NewRecorder(), r)
}
