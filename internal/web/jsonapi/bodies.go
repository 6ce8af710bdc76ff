package jsonapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/internal/wire"
)

// A body of more than smallBody bytes is large: nearly no call has one. A large body takes up to 4 MiB until
// it has come, and tens of times as much when it is decoded, so only maxLarge of them are under way at once.
// Others wait for placeTime at most, with what their connections have buffered.
const (
	smallBody = 64 << 10
	maxLarge  = 4
	placeTime = 5 * time.Second
)

// IsLarge reports whether a request's body may be large.
func IsLarge(r *http.Request) bool { return r.ContentLength < 0 || r.ContentLength > smallBody }

// places are those of large bodies.
type places chan struct{}

// read returns the body of a request. done must be called once the body is no longer needed.
func (p places) read(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	in := http.MaxBytesReader(w, r.Body, wire.MaxJSONBytes)
	done = func() {}
	body, err = io.ReadAll(io.LimitReader(in, smallBody+1))
	if err == nil && len(body) > smallBody {
		if !p.take(r) {
			return nil, done, answer(http.StatusServiceUnavailable, codes.Unavailable,
				"body: more than %d bytes, and %d such bodies are being read or answered already; allowed: send "+
					"it again in a moment", smallBody, maxLarge)
		}
		done = func() { <-p }
		var rest []byte
		rest, err = io.ReadAll(in)
		body = append(body, rest...)
	}
	if err == nil && len(bytes.TrimSpace(body)) == 0 {
		err = answer(http.StatusBadRequest, codes.InvalidArgument, `body: empty; allowed: a message as JSON, such as {}`)
	} else if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		err = answer(http.StatusRequestEntityTooLarge, codes.InvalidArgument,
			"body: more than %d bytes; allowed: at most that", large.Limit)
	} else if err != nil {
		err = answer(http.StatusBadRequest, codes.InvalidArgument,
			"body: it did not come whole in time; allowed: 10 s")
	}
	if err != nil {
		done()
		return nil, func() {}, err
	}
	return body, done, nil
}

// take waits for a place, and reports whether there was one in time.
func (p places) take(r *http.Request) bool {
	timer := time.NewTimer(placeTime)
	defer timer.Stop()
	select {
	case p <- struct{}{}:
		return true
	case <-r.Context().Done():
	case <-timer.C:
	}
	return false
}
