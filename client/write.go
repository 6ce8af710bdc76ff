package client

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Write is the content of one write in a lane.
type Write struct {
	// Action says what is done: a *pb.Charge, *pb.Reserve, *pb.Commit, *pb.Release, or another action of the API. Of
	// what was reserved in several ledgers it is a *pb.SetCommit or a *pb.SetRelease.
	Action proto.Message

	// Set says that a charge or a reservation is for several ledgers, and Contribution whose rows its sensitivity
	// bounds.
	Set          *pb.LedgerSet
	Contribution pb.SetPart_Contribution
}

// Write makes a write to a ledger. The action is the message that the write's request has beside its lane, such as
// *pb.Raise, *pb.Refund, *pb.Close or *pb.Approve. To amend a dataset, the ledger is "dataset:" and the dataset's
// identifier, which names its record. The request travels in the lane as Report's does.
func (c *Client) Write(ctx context.Context, ledger string, action proto.Message) (*pb.WriteResponse, error) {
	return inLane[*pb.WriteResponse](ctx, c, "Write", ledger, Write{Action: action})
}

// WriteOnce is Write under a key that the caller chooses: see ReportOnce.
func (c *Client) WriteOnce(ctx context.Context, ledger, key string, action proto.Message) (*pb.WriteResponse, error) {
	return once[*pb.WriteResponse](ctx, c, "WriteOnce", ledger, key, Write{Action: action})
}

// methods returns the methods that write to one ledger, by the types of their actions.
var methods = sync.OnceValue(func() map[protoreflect.FullName]protoreflect.MethodDescriptor {
	all := map[protoreflect.FullName]protoreflect.MethodDescriptor{}
	for m := range api.Methods() {
		if api.Writes(m) {
			all[api.ActionField(m).Message().FullName()] = m
		}
	}
	return all
})

// unary returns how w travels alone: the method and the request.
func (w Write) unary(ledger, writer string, sequence uint64) (method string, request proto.Message, err error) {
	switch a := w.Action.(type) {
	case *pb.SetCommit:
		return pb.Charges_CommitSet_FullMethodName,
			&pb.CommitSetRequest{Writer: writer, Sequence: sequence, Commit: a}, nil
	case *pb.SetRelease:
		return pb.Charges_ReleaseSet_FullMethodName,
			&pb.ReleaseSetRequest{Writer: writer, Sequence: sequence, Release: a}, nil
	case *pb.Reserve:
		if w.Set != nil {
			return pb.Charges_ReserveSet_FullMethodName, &pb.ReserveSetRequest{Set: w.Set, Writer: writer,
				Sequence: sequence, Reserve: a, Contribution: w.Contribution}, nil
		}
	case *pb.Charge:
		if w.Set != nil {
			return pb.Charges_ReportSet_FullMethodName, &pb.ReportSetRequest{Set: w.Set, Writer: writer,
				Sequence: sequence, Charge: a, Contribution: w.Contribution}, nil
		}
	}
	if w.Action == nil || !w.Action.ProtoReflect().IsValid() {
		return "", nil, fmt.Errorf("action: missing; allowed: what is to be done, such as a Charge")
	}
	m := methods()[w.Action.ProtoReflect().Descriptor().FullName()]
	if m == nil {
		return "", nil, fmt.Errorf("action: %s; allowed: a message that a request has beside its lane, "+
			"such as a Charge", w.Action.ProtoReflect().Descriptor().FullName())
	}
	return api.Path(m), requestOf(m, &pb.Lane{Ledger: ledger, Writer: writer, Sequence: sequence}, w.Action), nil
}

// requestOf makes the request of a method that writes to one ledger.
func requestOf(m protoreflect.MethodDescriptor, lane *pb.Lane, action proto.Message) proto.Message {
	request := api.NewRequest(m)
	set := request.ProtoReflect()
	set.Set(m.Input().Fields().ByName("lane"), protoreflect.ValueOfMessage(lane.ProtoReflect()))
	set.Set(api.ActionField(m), protoreflect.ValueOfMessage(action.ProtoReflect()))
	return request
}

// streamed returns the part of a stream's message that holds w's content, with the field number
// of the message around it. Only charges, reservations, commits and releases travel in streams.
func (w Write) streamed() (field int, content proto.Message) {
	switch w.Action.(type) {
	case *pb.Reserve:
		return fieldStreamReserve, w.Action
	case *pb.Commit:
		return fieldStreamCommit, w.Action
	case *pb.Release:
		return fieldStreamRelease, w.Action
	}
	return fieldStreamCharge, w.Action
}

// contentOf decodes a frozen write. It cannot fail, because this client encoded the bytes
// itself.
func contentOf(it *item) Write {
	m := api.At(it.method)
	request := api.NewRequest(m)
	_ = proto.Unmarshal(it.request, request)
	switch r := request.(type) {
	case *pb.ReportSetRequest:
		return Write{Set: r.GetSet(), Contribution: r.GetContribution(), Action: r.GetCharge()}
	case *pb.ReserveSetRequest:
		return Write{Set: r.GetSet(), Contribution: r.GetContribution(), Action: r.GetReserve()}
	case *pb.CommitSetRequest:
		return Write{Action: r.GetCommit()}
	case *pb.ReleaseSetRequest:
		return Write{Action: r.GetRelease()}
	}
	return Write{Action: api.Action(request)}
}

// freezeItem returns the frozen request of w, and an empty answer to decode into.
func freezeItem(op, ledger, writer string, sequence uint64, w Write) (*item, proto.Message, error) {
	method, request, err := w.unary(ledger, writer, sequence)
	if err != nil {
		return nil, nil, invalid(op, ledger, err.Error())
	}
	b, err := freeze(op, ledger, request)
	return &item{sequence: sequence, method: method, request: b}, api.NewAnswer(api.At(method)), err
}

// inLane sends w as the next write of this client's lane. A is the type of its answer.
func inLane[A proto.Message](ctx context.Context, c *Client, op, ledger string, w Write) (answer A, err error) {
	got, err := c.write(ctx, op, ledger, w)
	if err != nil {
		return answer, err
	}
	return got.(A), nil
}

// once sends w under a key that the caller chose for this one write.
func once[A proto.Message](ctx context.Context, c *Client, op, ledger, key string, w Write) (answer A, err error) {
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return answer, err
	}
	it, got, err := freezeItem(op, ledger, writer, 1, w)
	if err != nil {
		return answer, err
	}
	if err := c.send(ctx, op, &lane{ledger: ledger}, it, got); err != nil { // a lane of its own
		return answer, err
	}
	return got.(A), nil
}

// inKey has the letters of which a key may consist.
const inKey = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// requestWriter returns the writer's name for a key, or an error for a key that is not allowed.
func requestWriter(op, ledger, key string) (string, error) {
	other := func(r rune) bool { return !strings.ContainsRune(inKey, r) }
	if key == "" || len(key) > 128 || strings.ContainsFunc(key, other) {
		return "", invalid(op, ledger, fmt.Sprintf("key: %q; allowed: 1 to 128 bytes of [A-Za-z0-9._-]", key))
	}
	return "request/" + key, nil
}
