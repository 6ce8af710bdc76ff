// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// register registers the services. All writes have one handler, except for Report, whose request is left encoded: most
// reports are read without being decoded in full.
func register(at grpc.ServiceRegistrar, s *service) {
	for _, d := range api.Descriptions() {
		d.Methods = slices.Clone(d.Methods)
		for i := range d.Methods {
			m := api.Method(d.Methods[i].MethodName)
			if m.Name() == "Report" {
				d.Methods[i].Handler = s.unaryReport()
			} else if api.Writes(m) {
				d.Methods[i].Handler = s.unaryWrite(m)
			}
		}
		at.RegisterService(&d, s)
	}
}

// maxKeptRequest is the size, in bytes, up to which a buffer is reused.
const maxKeptRequest = 16 << 10

// unaryReport is the handler of Report.
func (s *service) unaryReport() func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
	info := &grpc.UnaryServerInfo{Server: s, FullMethod: pb.Charges_Report_FullMethodName}
	report := s.report
	return func(_ any, ctx context.Context, receive func(any) error,
		intercept grpc.UnaryServerInterceptor) (any, error) {
		growStack(0)
		in, ok := s.requests.Get().(*encoded)
		if !ok {
			in = new(encoded)
		}
		defer s.reuse(in)
		if err := receive(in); err != nil {
			return nil, err
		}
		if wire.NamesLedgers(*in) { // the gate has to know all of them
			m := new(pb.ReportRequest)
			if err := unmarshalReport(*in, m); err != nil {
				return nil, err
			}
			return intercept(ctx, m, info, func(ctx context.Context, _ any) (any, error) {
				return s.act(ctx, m.GetLane(), true, "charge", api.Action(m))
			})
		}
		return intercept(ctx, in, info, report)
	}
}

func (s *service) reuse(in *encoded) {
	if cap(*in) <= maxKeptRequest {
		s.requests.Put(in)
	}
}

// growStack makes room for what a report needs. A call's goroutine is new; its stack
// would grow twice on the way, each time deeper, and moving a stack costs by its frames.
// The room is never cleared: that the function has it makes the stack grow when it is called.
//
//go:noinline
func growStack(i int) byte {
	if i == 0 {
		return 0
	}
	var room [9 << 10]byte // the stack that it makes has 16 KiB
	return room[i]
}

// report handles a Report whose request is not decoded yet. The request is not used after it
// returns.
func (s *service) report(ctx context.Context, in any) (any, error) {
	b := *in.(*encoded)
	r, ok := wire.ReadReport(b)
	if !ok {
		m, err := decodeReport(b)
		if err != nil {
			return nil, err
		}
		return s.act(ctx, m.GetLane(), true, "charge", m.GetCharge())
	}
	return s.write(ctx, &r.Lane, true, func(adj mechanism.Adjacency) (ledger.Action, ledger.Digest, error) {
		if c, digest, ok := s.charges[adj].Charge(r.Charge); ok {
			return c, digest, nil
		}
		m, err := decodeReport(b)
		if err != nil {
			return digested(nil, err)
		}
		return digested(wire.To[ledger.Charge]("charge", adj, m.GetCharge()))
	})
}

// decodeReport decodes a request in full, with the errors that gRPC and checked would give.
func decodeReport(b []byte) (*pb.ReportRequest, error) {
	m := new(pb.ReportRequest)
	if err := unmarshalReport(b, m); err != nil {
		return nil, err
	}
	return m, checkRequest(m)
}

func unmarshalReport(b []byte, m *pb.ReportRequest) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: error unmarshalling request: %v", err)
	}
	return nil
}
