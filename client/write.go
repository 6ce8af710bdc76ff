// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Write is the content of one write in a lane.
type Write struct {
	// Action says what is done: a *pb.Charge, *pb.Reserve, *pb.Commit, *pb.Release, or another action of the API.
	Action proto.Message

	// Ledgers says that a charge or a reservation is for several ledgers, and Contribution whose rows its sensitivity
	// bounds.
	Ledgers      *pb.LedgerSet
	Contribution pb.SetPart_Contribution
	// Reserved is the ledger of the receipt of what was reserved in several ledgers, for a commit or a release of it.
	Reserved string
	// Late says of a commit that it was released already, while its reservation held it.
	Late bool
}

// Write makes a write to a ledger. The action is the message that the write's request has beside its lane, such as
// *pb.Raise, *pb.Refund, *pb.Close or *pb.Approve. To amend a dataset, the ledger is "dataset:" and the dataset's
// identifier, which names its record. The request travels in the lane as Report's does.
func (c *Client) Write(ctx context.Context, ledger string, action proto.Message) (*pb.WriteResponse, error) {
	return c.write(ctx, "Write", ledger, Write{Action: action})
}

// WriteOnce is Write under a key that the caller chooses: see ReportOnce.
func (c *Client) WriteOnce(ctx context.Context, ledger, key string, action proto.Message) (*pb.WriteResponse, error) {
	return c.once(ctx, "WriteOnce", ledger, key, Write{Action: action})
}

// laneName names the lane of this client in which writes to a ledger travel. Those about what was reserved in several
// ledgers travel with all others about several.
func laneName(ledger string) string {
	if strings.HasPrefix(ledger, "system:sets/") {
		return SetLane
	}
	return ledger
}

// unary returns how w travels alone: the method and the request.
func (w Write) unary(ledger, writer string, sequence uint64) (method string, request proto.Message, err error) {
	if w.Action == nil || !w.Action.ProtoReflect().IsValid() {
		return "", nil, fmt.Errorf("action: missing; allowed: what is to be done, such as a Charge")
	}
	m := api.Writing(w.Action)
	if m == nil {
		return "", nil, fmt.Errorf("action: %s; allowed: a message that a request has beside its lane, "+
			"such as a Charge", w.Action.ProtoReflect().Descriptor().FullName())
	}
	lane := &pb.Lane{Ledger: cmp.Or(w.Reserved, ledger), Writer: writer, Sequence: sequence, Ledgers: w.Ledgers,
		Contribution: w.Contribution}
	request = requestOf(m, lane, w.Action)
	if commit, ok := request.(*pb.CommitRequest); ok {
		commit.Late = w.Late
	}
	return api.Path(m), request, nil
}

// requestOf makes the request of a method that writes.
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
	request := api.NewRequest(api.At(it.method))
	_ = proto.Unmarshal(it.request, request)
	lane := request.(interface{ GetLane() *pb.Lane }).GetLane()
	w := Write{Action: api.Action(request), Ledgers: lane.GetLedgers(), Contribution: lane.GetContribution()}
	if name := lane.GetLedger(); name != laneName(name) {
		w.Reserved = name
	}
	return w
}

// freezeItem returns the frozen request of w.
func freezeItem(op, ledger, writer string, sequence uint64, w Write) (*item, error) {
	method, request, err := w.unary(ledger, writer, sequence)
	if err != nil {
		return nil, invalid(op, ledger, err.Error())
	}
	b, err := freeze(op, ledger, request)
	return &item{sequence: sequence, method: method, request: b}, err
}

// once sends w under a key that the caller chose for this one write.
func (c *Client) once(ctx context.Context, op, ledger, key string, w Write) (*pb.WriteResponse, error) {
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return nil, err
	}
	it, err := freezeItem(op, ledger, writer, 1, w)
	if err != nil {
		return nil, err
	}
	answer, failed := c.send(ctx, op, &lane{ledger: laneName(ledger)}, it) // a lane of its own
	if failed != nil {
		return nil, failed
	}
	return answer, nil
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
