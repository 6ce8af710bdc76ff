package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// maxReceive is the transport's limit: over it grpc itself ends the call with
// RESOURCE_EXHAUSTED. wire.MaxRequestBytes is the service's own, lower one.
const maxReceive = 4 << 20

// options are the transport's settings and the one chain that every call
// passes: log, metrics, identity, deadline, status, request check, recover.
// Recovery is innermost, so that panics are logged and counted as INTERNAL.
func (s *Server) options() []grpc.ServerOption {
	record := s.record()
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxReceive),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.WaitForHandlers(true), // the keeper closes only after the last handler
		grpc.ConnectionTimeout(20 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(
			logging.UnaryServerInterceptor(record, logOptions()...),
			s.metrics.calls.UnaryServerInterceptor(),
			unaryIdentity,
			s.unaryDeadline,
			unaryStatus,
			unaryCheck,
			recovery.UnaryServerInterceptor(recovery.WithRecoveryHandlerContext(s.recovered)),
		),
		grpc.ChainStreamInterceptor(
			logging.StreamServerInterceptor(record, logOptions()...),
			s.metrics.calls.StreamServerInterceptor(),
			streamIdentity,
			s.streamDrain,
			streamStatus,
			recovery.StreamServerInterceptor(recovery.WithRecoveryHandlerContext(s.recovered)),
		),
	}
}

func (s *Server) record() logging.Logger {
	return logging.LoggerFunc(func(ctx context.Context, level logging.Level, message string, fields ...any) {
		s.config.Logger.Log(ctx, slog.Level(level), message, fields...)
	})
}

// logOptions: one record when a call ends; of good ones only for debugging.
func logOptions() []logging.Option {
	return []logging.Option{
		logging.WithLogOnEvents(logging.FinishCall),
		logging.WithLevels(func(c codes.Code) logging.Level {
			if c == codes.OK {
				return logging.LevelDebug
			}
			return logging.DefaultServerCodeToLevel(c)
		}),
		logging.WithDisableLoggingFields(logging.SystemTag[0], logging.ComponentFieldKey),
	}
}

func unaryIdentity(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := identify(ctx)
	if err != nil {
		return nil, statusOf(err).Err()
	}
	return next(ctx, req)
}

func streamIdentity(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := identify(stream.Context())
	if err != nil {
		return statusOf(err).Err()
	}
	return next(srv, &streamWith{stream, ctx})
}

// streamWith is a stream with another context.
type streamWith struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *streamWith) Context() context.Context { return s.ctx }

// unaryDeadline bounds calls whose client set no deadline.
func (s *Server) unaryDeadline(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.config.Deadline)
		defer cancel()
	}
	return next(ctx, req)
}

// streamDrain ends the streams of the health service, which would otherwise
// last as long as their clients. ReportStream ends by itself, in order.
func (s *Server) streamDrain(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if ours(info.FullMethod) {
		return next(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	return next(srv, &streamWith{stream, ctx})
}

func ours(method string) bool {
	return strings.HasPrefix(method, "/"+pb.AccountantService_ServiceDesc.ServiceName+"/")
}

// unaryStatus turns the domain's errors into statuses.
func unaryStatus(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	answer, err := next(ctx, req)
	if err != nil {
		return nil, statusOf(err).Err()
	}
	return answer, nil
}

func streamStatus(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return statusOf(next(srv, stream)).Err()
}

// unaryCheck refuses requests that are too large or come from a newer API.
func unaryCheck(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if m, ok := req.(proto.Message); ok && ours(info.FullMethod) {
		if err := checkRequest(m); err != nil {
			return nil, err
		}
	}
	return next(ctx, req)
}

func checkRequest(m proto.Message) error {
	if err := wire.CheckSize(m); err != nil {
		return err
	}
	return wire.RejectUnknown(m)
}

// recovered turns a panic into INTERNAL; what happened goes to the log only.
func (s *Server) recovered(ctx context.Context, p any) error {
	s.metrics.panics.Inc()
	s.config.Logger.ErrorContext(ctx, "panic", "value", fmt.Sprint(p), "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error: the daemon's log has it")
}
