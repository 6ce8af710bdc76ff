// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/wire"
)

// maxReceive is the transport's limit for a message; above it gRPC itself ends the call with
// RESOURCE_EXHAUSTED. The service's own limit, wire.MaxRequestBytes, is lower.
const maxReceive = 4 << 20

// maxCalls is how many calls and streams one connection has at once; a client has further ones wait. It bounds what one
// connection takes to some 40 MiB, beside what it has sent into streams and nobody has read (streamWindow). It is more
// than the HTTP port needs, whose calls come over one connection.
const maxCalls = 2000

// streamWindow is how much a client may send into a stream before the daemon has read it, and connectionWindow into all
// of a connection before it has arrived, whoever reads it then. gRPC would let both grow to 16 MiB, and a thousand
// streams then fill the memory while they wait.
const (
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20
)

// callWorkers is how many goroutines wait for calls. The stack of a new one grows several times on a call's way to the
// store; theirs has grown. Calls beyond them have goroutines of their own.
const callWorkers = 512

// options returns the transport's settings and what every call passes: log, metrics, checks (identity, deadline,
// status, request) and, innermost, what recovers from panics, so that they are logged and counted as INTERNAL. All of
// this is one function for calls, and for streams all but the metrics.
func (s *Server) options() []grpc.ServerOption {
	return append(s.config.Spans.Options(),
		grpc.Creds(endpoint.Credentials(s.tls, s.config.Logger)),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxReceive),
		grpc.MaxHeaderListSize(16<<10),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connectionWindow),
		grpc.NumStreamWorkers(callWorkers),
		grpc.WaitForHandlers(true), // the keeper closes only after the last handler
		grpc.ConnectionTimeout(20*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second,
			PermitWithoutStream: true}),
		grpc.InTapHandle(s.arrived),
		grpc.UnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.metrics.calls.stream, s.stream),
	)
}

// unary counts a call, has it checked and handled, and logs it.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c, of, start := callerOf(ctx), s.metrics.calls.methods[info.FullMethod], time.Now()
	of.started.Inc()
	of.received.Inc()
	answer, err := s.checked(ctx, c, req, info, next)
	if err == nil {
		of.sent.Inc()
	}
	of.end(start, err)
	s.finished(ctx, c, info.FullMethod, "unary", start, err)
	return answer, err
}

// checked refuses calls that arrive while the server is stopping, finds out who calls, whether
// fair use leaves them this call and whether the access policy allows it, bounds calls whose client
// set no deadline, refuses requests that are too large or come from a newer API, and turns the
// domain's errors into statuses. The request of a report is not decoded yet; its handler checks it.
func (s *Server) checked(ctx context.Context, c *caller, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (any, error) {
	err := s.taking(info.FullMethod)
	if err == nil {
		err = s.identify(ctx, c)
	}
	if err == nil && ours(info.FullMethod) && c.account != nil {
		err, c.payer = c.account.Call(), c.account // also if the call is refused below
	}
	if m, ok := req.(proto.Message); ok && err == nil && ours(info.FullMethod) {
		err = checkRequest(m)
	}
	if err == nil && ours(info.FullMethod) {
		err = s.enter(c, info.FullMethod, req)
	}
	if err != nil {
		return nil, notLetIn(s.refused(err))
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.config.Deadline)
		defer cancel()
	}
	if s.shared != nil {
		ctx = fleet.Within(ctx)
	}
	answer, err := s.recovering(ctx, req, next)
	if err == nil && ours(info.FullMethod) {
		answer, err = s.hold(ctx, c, answer.(proto.Message))
	}
	if err != nil {
		if c.answer != nil {
			c.answer.Release()
		}
		return nil, s.refused(err)
	}
	return answer, nil
}

// recovering calls a handler, and returns an error if it panics.
func (s *Server) recovering(ctx context.Context, req any, next grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, s.recovered(ctx, p)
		}
	}()
	return next(ctx, req)
}

// enter has the gate decide whether a call may pass, and keeps what the call may do. The request of
// a report is not decoded yet.
func (s *Server) enter(c *caller, method string, req any) (err error) {
	if in, ok := req.(*encoded); ok {
		req = []byte(*in)
	}
	if c.passage, err = s.gate.Enter(method, c.identity(), req); err == nil && gate.OnlyReads(method) {
		c.answer = s.answers.To(c.principal, c.identity().Proven())
		if c.web {
			c.release(c.answer.Release)
		}
	}
	return err
}

// taking returns errDraining for calls of our own service once the server is stopping. gRPC
// itself accepts calls on an open connection until the client has heard that the server stops.
// Once the ledgers were moved away, nothing is answered from memory either: another daemon may
// have charged them since.
func (s *Server) taking(method string) error {
	switch {
	case !ours(method):
		return nil
	case s.draining.Err() != nil:
		return errDraining
	}
	return moved(s.config.Store)
}

// stream does for streams what unary does for calls. Its handlers wait for hours, and
// what lies below them on the stack is kept for as long: a stack of 16 KiB becomes one of 8 KiB only where less than
// some 3 KiB are in use. So this is one interceptor, and what it does before and after the handler is in functions of
// their own.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	call := s.beginStream(stream, info.FullMethod)
	defer func() {
		if p := recover(); p != nil {
			err = s.recovered(call.stream.Context(), p)
		}
		err = call.end(err)
	}()
	if call.refused != nil {
		return call.refused
	}
	return next(srv, call.stream)
}

// streamCall is a stream from before its handler begins until it has returned.
type streamCall struct {
	server  *Server
	method  string
	start   time.Time
	stream  grpc.ServerStream // as the handler gets it
	caller  *caller
	refused error // why there is no handler
	after   []func()
}

// beginStream decides whether a stream may begin. When the server stops it also ends the streams of the health service,
// which would otherwise last as long as their clients; our own streams end by themselves, in order.
func (s *Server) beginStream(stream grpc.ServerStream, method string) *streamCall {
	ctx := stream.Context()
	c := callerOf(ctx)
	call := &streamCall{server: s, method: method, start: time.Now(), stream: stream, caller: c}
	if call.refused = s.taking(method); call.refused == nil {
		call.refused = s.identify(ctx, c)
	}
	if call.refused != nil {
		return call
	}
	if !ours(method) {
		ctx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(s.draining, cancel)
		call.after = append(call.after, func() { stop(); cancel() })
		call.stream = &streamWith{stream, ctx}
		return call
	}
	if call.refused = c.account.Call(); call.refused != nil {
		return call
	}
	if c.web {
		leave, err := s.webStreams.Enter(c.principal, c.identity().Proven())
		if err != nil {
			s.metrics.limited("http_streams")
			call.refused = err
			return call
		}
		call.after = append(call.after, leave)
	}
	call.stream = s.gate.Stream(call.stream, method, c.identity(), func(p *gate.Passage) { c.passage = p })
	if gate.OnlyReads(method) {
		counted := &answers{call.stream, s, c}
		call.after = append(call.after, counted.end)
		call.stream = counted
	} else {
		call.stream = s.inTime(call.stream, c)
	}
	return call
}

// end returns what the caller hears of err, and logs it.
func (c *streamCall) end(err error) error {
	for _, f := range c.after {
		f()
	}
	err = c.server.refused(err)
	c.server.finished(c.stream.Context(), c.caller, c.method, "stream", c.start, err)
	return err
}

// streamWith is a stream with another context.
type streamWith struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *streamWith) Context() context.Context { return s.ctx }

// ours reports whether a method, "/SERVICE/NAME", is the accountant's. It is asked several times in every call,
// and allocates nothing.
func ours(method string) bool {
	return strings.HasPrefix(method, api.Prefix)
}

func checkRequest(m proto.Message) error {
	if err := wire.CheckSize(m); err != nil {
		return err
	}
	return wire.RejectUnknown(m)
}

// recovered turns a panic into INTERNAL. Only the log says what happened.
func (s *Server) recovered(ctx context.Context, p any) error {
	s.metrics.panics.Inc()
	s.config.Logger.ErrorContext(ctx, "panic", "request_id", s.requestID(callerOf(ctx)), "value", fmt.Sprint(p),
		"stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error: the daemon's log has it")
}
