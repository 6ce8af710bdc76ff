// SPDX-License-Identifier: Apache-2.0

// Package api has the services of the API as one: a client and a server of all of them, and their methods by name. The
// clients, the daemon and the HTTP port use it, so that which service has a method is said in the protos alone.
package api

import (
	"iter"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Prefix begins the name of every method, "/accountant.v1.SERVICE/METHOD", and of no other one.
const Prefix = "/accountant.v1."

// Client calls the methods of all services.
type Client struct {
	pb.LedgersClient
	pb.ChargesClient
	pb.QuestionsClient
	pb.DatasetsClient
	pb.AuditClient
	pb.AdminClient
}

// NewClient returns a client on a connection.
func NewClient(conn grpc.ClientConnInterface) Client {
	return Client{pb.NewLedgersClient(conn), pb.NewChargesClient(conn), pb.NewQuestionsClient(conn),
		pb.NewDatasetsClient(conn), pb.NewAuditClient(conn), pb.NewAdminClient(conn)}
}

// Server implements all services.
type Server interface {
	pb.LedgersServer
	pb.ChargesServer
	pb.QuestionsServer
	pb.DatasetsServer
	pb.AuditServer
	pb.AdminServer
}

// Unimplemented is a Server whose methods all answer UNIMPLEMENTED. Servers embed it.
type Unimplemented struct {
	pb.UnimplementedLedgersServer
	pb.UnimplementedChargesServer
	pb.UnimplementedQuestionsServer
	pb.UnimplementedDatasetsServer
	pb.UnimplementedAuditServer
	pb.UnimplementedAdminServer
}

// Descriptions describe the services to gRPC, in the order of the protos.
func Descriptions() []grpc.ServiceDesc {
	return []grpc.ServiceDesc{pb.Ledgers_ServiceDesc, pb.Charges_ServiceDesc, pb.Questions_ServiceDesc,
		pb.Datasets_ServiceDesc, pb.Audit_ServiceDesc, pb.Admin_ServiceDesc}
}

// Register registers a server of all services.
func Register(at grpc.ServiceRegistrar, s Server) {
	for _, d := range Descriptions() {
		at.RegisterService(&d, s)
	}
}

// Services returns the names of all services, in the order of the protos.
func Services() (list []string) {
	for _, d := range Descriptions() {
		list = append(list, d.ServiceName)
	}
	return list
}

// Methods returns all methods, in the order of the protos.
func Methods() iter.Seq[protoreflect.MethodDescriptor] {
	return func(yield func(protoreflect.MethodDescriptor) bool) {
		services := pb.File_accountant_v1_services_proto.Services()
		for i := range services.Len() {
			methods := services.Get(i).Methods()
			for j := range methods.Len() {
				if !yield(methods.Get(j)) {
					return
				}
			}
		}
	}
}

// Method returns the method with a name, such as "Report", or nil. No two services have methods of the same name.
func Method(name string) protoreflect.MethodDescriptor {
	services := pb.File_accountant_v1_services_proto.Services()
	for i := range services.Len() {
		if m := services.Get(i).Methods().ByName(protoreflect.Name(name)); m != nil {
			return m
		}
	}
	return nil
}

// Path returns the name under which gRPC and HTTP call a method, "/accountant.v1.SERVICE/METHOD".
func Path(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// At returns the method that Path calls so, or nil.
func At(path string) protoreflect.MethodDescriptor {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if m := Method(name); m != nil && Path(m) == path {
		return m
	}
	return nil
}

// NewRequest returns an empty request of a method.
func NewRequest(m protoreflect.MethodDescriptor) proto.Message { return empty(m.Input()) }

// NewAnswer returns an empty answer of a method.
func NewAnswer(m protoreflect.MethodDescriptor) proto.Message { return empty(m.Output()) }

func empty(d protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil { // every message of the API is generated
		panic(err)
	}
	return kind.New().Interface()
}

// Access returns what a caller needs for a method. Nobody may call a method that does not say it.
func Access(m protoreflect.MethodDescriptor) *pb.Access {
	return proto.GetExtension(m.Options(), pb.E_Access).(*pb.Access)
}

// OnlyReads reports whether a method changes nothing.
func OnlyReads(m protoreflect.MethodDescriptor) bool {
	return m.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// Writes reports whether a method is a write to one ledger: its request is a Lane and an action.
func Writes(m protoreflect.MethodDescriptor) bool {
	return m.Output().FullName() == (*pb.WriteResponse)(nil).ProtoReflect().Descriptor().FullName()
}

// ActionField returns the field of a write's request that has the action, beside the lane.
func ActionField(m protoreflect.MethodDescriptor) protoreflect.FieldDescriptor {
	return m.Input().Fields().ByNumber(2)
}

// Action returns the action of a write's request. It is not nil, also if none is given.
func Action(request proto.Message) proto.Message {
	m := request.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByNumber(2)).Message().Interface()
}

// writing has the methods that write, by the types of their actions.
var writing = sync.OnceValue(func() map[protoreflect.FullName]protoreflect.MethodDescriptor {
	all := map[protoreflect.FullName]protoreflect.MethodDescriptor{}
	for m := range Methods() {
		if Writes(m) {
			all[ActionField(m).Message().FullName()] = m
		}
	}
	return all
})

// Writing returns the method that makes a write with an action, such as Report for a Charge, or nil.
func Writing(action proto.Message) protoreflect.MethodDescriptor {
	return writing()[action.ProtoReflect().Descriptor().FullName()]
}

// asking has the methods that one request asks, by the types of their requests.
var asking = sync.OnceValue(func() map[protoreflect.FullName]protoreflect.MethodDescriptor {
	all := map[protoreflect.FullName]protoreflect.MethodDescriptor{}
	for m := range Methods() {
		if !Writes(m) && !m.IsStreamingClient() && !m.IsStreamingServer() {
			all[m.Input().FullName()] = m
		}
	}
	return all
})

// Asking returns the method that a request is for, such as QueryForecast for a QueryForecastRequest. It is nil if the
// request is a write to a ledger or part of a stream.
func Asking(request proto.Message) protoreflect.MethodDescriptor {
	return asking()[request.ProtoReflect().Descriptor().FullName()]
}

// Rows returns the field of a page that has its rows.
func Rows(page protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	return page.Fields().ByNumber(1)
}
