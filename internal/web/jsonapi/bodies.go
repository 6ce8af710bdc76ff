// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/internal/web/bounds"
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

// maxLargeEach is how many of these one caller may have under way. All who do not prove who they are count as one.
const maxLargeEach = 2

// IsLarge reports whether a request's body may be large.
func IsLarge(r *http.Request) bool { return r.ContentLength < 0 || r.ContentLength > smallBody }

type callerKey struct{}

// For returns a context for a request whose body may be large: the principal who sends it, "" if nothing proves that.
func For(ctx context.Context, principal string) context.Context {
	return context.WithValue(ctx, callerKey{}, principal)
}

// places are those of large bodies.
type places struct{ *bounds.Places }

func newPlaces() places { return places{bounds.NewPlaces(maxLarge, maxLargeEach)} }

// read returns the body of a request. done must be called once the body is no longer needed.
func (p places) read(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	done = func() {}
	if r.ContentLength > wire.MaxJSONBytes { // nor is a client told to go on that waits for that
		w.Header().Set("Connection", "close")
		return nil, done, tooLarge()
	}
	in := http.MaxBytesReader(w, r.Body, wire.MaxJSONBytes)
	body, err = io.ReadAll(io.LimitReader(in, smallBody+1))
	if err == nil && len(body) > smallBody {
		if done, err = p.take(r); err != nil {
			return nil, func() {}, err
		}
		var rest []byte
		rest, err = io.ReadAll(in)
		body = append(body, rest...)
	}
	if err == nil && len(bytes.TrimSpace(body)) == 0 {
		err = answer(http.StatusBadRequest, codes.InvalidArgument, `body: empty; allowed: a message as JSON, such as {}`)
	} else {
		err = unread(err)
	}
	if err != nil {
		done()
		return nil, func() {}, err
	}
	return body, done, nil
}

func tooLarge() error {
	return answer(http.StatusRequestEntityTooLarge, codes.InvalidArgument,
		"body: more than %d bytes; allowed: at most that", wire.MaxJSONBytes)
}

// unread says why a body was not read whole; err is what reading it ended with, nil if it was.
func unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return answer(http.StatusBadRequest, codes.InvalidArgument,
			"body: it did not come whole in time; allowed: 10 s")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return answer(http.StatusBadRequest, codes.InvalidArgument,
			"body: it ended too early; allowed: as many bytes as Content-Length says, or all chunks")
	}
	return answer(http.StatusBadRequest, codes.InvalidArgument,
		"body: it cannot be read (%.100s); allowed: the length or the chunks that the headers name", err)
}

// take waits for a place, for some time.
func (p places) take(r *http.Request) (done func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), placeTime)
	defer cancel()
	caller, _ := ctx.Value(callerKey{}).(string)
	done, own := p.Take(ctx, caller)
	whose := "of yours"
	if caller == "" {
		whose = "of callers who do not prove who they are"
	}
	switch {
	case done != nil:
		return done, nil
	case own:
		return nil, answer(http.StatusTooManyRequests, codes.ResourceExhausted,
			"body: more than %d bytes, and %d such bodies %s are being read or answered already; allowed: one after "+
				"the other; send it again when those are answered", smallBody, maxLargeEach, whose)
	}
	return nil, answer(http.StatusServiceUnavailable, codes.Unavailable,
		"body: more than %d bytes, and %d such bodies are being read or answered already; allowed: send it again in "+
			"a moment", smallBody, maxLarge)
}
