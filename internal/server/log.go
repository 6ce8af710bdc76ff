// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"log/slog"
	"path"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/dpaccountant/accountant/internal/server/fairuse"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/server/spans"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// RequestIDKey is the metadata key of a call's identifier in the log. A client may choose it,
// of the same characters as a principal. The trailer of a failed call carries it.
const RequestIDKey = "x-request-id"

// caller is what is known about a call. arrived puts it into the context, and identify fills it in.
type caller struct {
	header    metadata.MD // with names in lower case
	id        string      // chosen by the client, "" otherwise
	number    uint64      // of the call in this process
	principal string
	ownSocket bool
	passage   *gate.Passage // what the call may do; nil for other services and before that is decided

	connection string    // the principal that the connection proves, "" if none
	groups     []string  // that the token lists
	until      time.Time // when the token ends; zero without one
	account    *fairuse.Account
	answer     *fairuse.Answer // what its answer takes; nil for a write without a long one

	web     bool   // it came over HTTP
	address string // of the HTTP request's peer
	release func(func())
	payer   turns.Payer // of the questions that the call asks
}

// callContext is the context of a call, with its caller.
type callContext struct {
	context.Context
	caller caller
}

type callerKey struct{}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case callerKey:
		return &c.caller
	case turns.PayerKey:
		return c.caller.payer
	}
	return c.Context.Value(key)
}

func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// arrived implements tap.ServerInHandle: every call and stream has a caller.
func (s *Server) arrived(ctx context.Context, info *tap.Info) (context.Context, error) {
	return &callContext{ctx, caller{header: info.Header, number: s.calls.Add(1)}}, nil
}

// requestID returns the text that tells a call from all others in the logs. A call that
// succeeds seldom needs one, so it is made on demand.
func (s *Server) requestID(c *caller) string {
	switch {
	case c == nil:
		return ""
	case c.id != "":
		return c.id
	}
	return s.process + "-" + strconv.FormatUint(c.number, 10)
}

// newProcessID returns the beginning of this process's request identifiers.
func newProcessID() string {
	id := uuid.New()
	return hex.EncodeToString(id[:4])
}

// finished logs a call that has ended; successful calls only at the debug level.
func (s *Server) finished(ctx context.Context, c *caller, method, kind string, start time.Time, err error) {
	level := slog.LevelDebug
	code := status.Code(err)
	if code != codes.OK {
		level = slog.Level(logging.DefaultServerCodeToLevel(code))
		_ = grpc.SetTrailer(ctx, metadata.Pairs(RequestIDKey, s.requestID(c))) // fails only where nothing can be sent
	}
	if !s.config.Logger.Enabled(ctx, level) {
		return
	}
	service, name := path.Split(method)
	fields := []slog.Attr{
		slog.String("grpc.service", path.Base(service)), slog.String("grpc.method", name),
		slog.String("grpc.method_type", kind),
		slog.String("request_id", s.requestID(c)), slog.String("principal", c.principal),
		slog.String("grpc.code", code.String()),
		slog.Float64("grpc.time_ms", float64(time.Since(start).Microseconds())/1000),
	}
	if p, ok := peer.FromContext(ctx); ok {
		fields = append(fields, slog.String("peer.address", cmp.Or(c.address, p.Addr.String())))
	}
	if c.connection != "" && c.connection != c.principal {
		fields = append(fields, slog.String("peer.principal", c.connection))
	}
	if id := spans.ID(ctx); id != "" {
		fields = append(fields, slog.String("trace_id", id))
	}
	if err != nil {
		fields = append(fields, slog.String("grpc.error", err.Error()))
	}
	s.config.Logger.LogAttrs(ctx, level, "finished call", fields...)
}
