// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// rule says what a method of the API needs. It follows from the method's option in the protos; see pb.Access.
type rule struct {
	role   access.Role
	people pb.Access_People
	own    bool // without a policy, only on the daemon's own socket
	reads  bool // the method changes nothing
	checks bool // a viewer may call it if it only checks
	of     func(request any) subject
}

// ruleOf returns the rule of a method; false if its declaration does not say who may call it.
func ruleOf(m protoreflect.MethodDescriptor) (rule, bool) {
	needs := api.Access(m)
	of, known := scopes[needs.GetScope()]
	role := needs.GetRole()
	r := rule{role: access.Role(role - pb.Access_VIEWER), people: needs.GetPeople(), own: needs.GetOwnSocket(),
		reads: api.OnlyReads(m), checks: needs.GetViewersCheck(), of: of}
	return r, known && role != pb.Access_ROLE_UNSPECIFIED
}

// rules returns the rules of all methods, by the paths of these.
var rules = sync.OnceValue(func() map[string]rule {
	all := map[string]rule{}
	for m := range api.Methods() {
		if r, ok := ruleOf(m); ok {
			all[api.Path(m)] = r
		}
	}
	return all
})

// writes reports whether the method writes to ledgers. A backup writes to none.
func (r rule) writes() bool { return !r.reads && r.role != access.Administrator }

// everythingForDatasets reports whether the method changes more than counts. In a dataset's record it needs what
// AmendDataset needs: who manages the dataset's ledgers may create more of them, and not close the budget of
// everybody's.
func (r rule) everythingForDatasets() bool { return r.writes() && r.role != access.Reporter }

// OnlyReads reports whether a method, "/SERVICE/NAME", is of the API and changes nothing.
func OnlyReads(method string) bool { return rules()[method].reads }

// subject is what a request is about.
type subject struct {
	kind   kind
	ledger string   // the ledger, or the dataset's record
	more   []string // further ledgers that the request names: the role is needed on every one of them
	other  string   // who is asked about; "" for the caller
	parent string   // of a ledger that is to be created; "" if it has none

	dataset string // of a ledger that is to be created; "" if it has none
	two     bool   // two people are needed, for requests of which only some need them
	one     bool   // the caller is one of the two, for requests of which only some are by one of the two
	checks  bool   // it asks whether something would be taken, and nothing is written
}

type kind uint8

const (
	onLedger kind = iota // the role is needed on subject.ledger, and on each of subject.more
	onNew                // on the name of a new ledger and, if it has them, on its parent and its dataset
	onWhole              // on everything
	onSelf               // nothing is needed to ask about oneself; about others, to have the role on everything
	onAny                // on anything at all; what is shown is chosen item by item
)

// scopes say what a role is needed on.
var scopes = map[pb.Access_Scope]func(request any) subject{
	pb.Access_LEDGERS:             named,
	pb.Access_LEDGERS_OR_WORKLOAD: asked,
	pb.Access_NEW_LEDGER:          created,
	pb.Access_SHOWN:               anything,
	pb.Access_EVERYTHING:          whole,
	pb.Access_ONESELF:             himself,
}

// maxMembers is how many ledgers a set has at most; a request with more is refused by its handler.
const maxMembers = 1000

// about says what a request of the method is about.
func (r rule) about(request any) subject {
	s := r.of(request)
	if w, ok := request.(interface{ GetLane() *pb.Lane }); ok && r.role == access.Reporter {
		_, reserved := api.Action(request.(proto.Message)).(interface{ GetReservation() uint64 })
		s = s.several(w.GetLane(), reserved)
	}
	if r.everythingForDatasets() && s.kind == onLedger && ledger.IsDataset(s.ledger) {
		return subject{kind: onWhole}
	}
	s.checks = s.checks && r.checks
	if r.people == pb.Access_TWO_FOR_BUDGETS {
		s.two, s.one = givesMore(request)
	}
	return s
}

// several is about all ledgers of a lane. Those of a range, and those in which something was reserved, only the handler
// finds, and asks for each of them.
func (s subject) several(lane *pb.Lane, reserved bool) subject {
	names := lane.GetLedgers().GetLedgers()
	_, journal := ledger.JournalNumber(lane.GetLedger())
	switch {
	case lane.GetLedgers() == nil && !(journal && reserved):
		return s
	case lane.GetLedger() != "" || len(names) == 0 || len(names) > maxMembers:
		return subject{kind: onAny}
	}
	return subject{kind: onLedger, ledger: names[0], more: names[1:], checks: s.checks}
}

// givesMore reports whether a request gives people more to spend, as a raise does, so that it needs two people, and
// whether it proposes to do so, which is to be one of the two.
func givesMore(request any) (two, one bool) {
	switch r := request.(type) {
	case *pb.CreateDatasetRequest:
		return len(r.GetSpec().GetBudgets()) > 0 && !r.GetPropose(), r.GetPropose()
	case *pb.AmendDatasetRequest:
		amend := r.GetAmend()
		return len(amend.GetBudgets()) > 0 || amend.GetCaps() != nil || amend.GetConfirm(), false
	}
	return true, false
}

// named is about the ledger that a request names.
func named(request any) subject {
	if encoded, ok := request.([]byte); ok {
		return reported(encoded)
	}
	var s subject
	switch r := request.(type) {
	case interface{ GetLane() *pb.Lane }:
		s.ledger, s.checks = r.GetLane().GetLedger(), r.GetLane().GetCheckOnly()
	case *pb.ReportStreamRequest:
		s.ledger = r.GetOpen().GetLedger()
	case interface{ GetLedger() string }:
		s.ledger = r.GetLedger()
	case interface{ GetName() string }:
		s.ledger = r.GetName()
	}
	return s
}

// asked is named for questions, which may also be about a workload that is in no ledger, and ask for each ledger of
// several by Passage.Member.
func asked(request any) subject {
	if r, ok := request.(interface{ GetLedger() string }); ok && r.GetLedger() != "" {
		return named(request)
	}
	return subject{kind: onAny}
}

func created(request any) subject {
	spec := request.(*pb.CreateLedgerRequest).GetSpec()
	return subject{kind: onNew, ledger: spec.GetName(), parent: spec.GetParent(), dataset: spec.GetDatasetId()}
}

// reported reads the ledger of a ReportRequest that is not decoded yet. As in protobuf, the last of several values
// counts. It is "" in bytes that are no message; those are refused later.
func reported(encoded []byte) subject {
	s, whole := subject{kind: onLedger}, true
	readable := wire.EachField(encoded, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number != 1 || kind != protowire.BytesType { // lane
			return
		}
		lane, _ := protowire.ConsumeBytes(value)
		whole = wire.EachField(lane, func(number protowire.Number, kind protowire.Type, value []byte) {
			switch {
			case number == 1 && kind == protowire.BytesType:
				text, _ := protowire.ConsumeBytes(value)
				s.ledger = string(text)
			case number == 5 && kind == protowire.VarintType:
				check, _ := protowire.ConsumeVarint(value)
				s.checks = check != 0
			case number == 6: // several ledgers: the handler decodes such a request before it asks here
				whole = false
			}
		}) && whole
	})
	if !readable || !whole {
		return subject{kind: onLedger}
	}
	return s
}

// himself is who is asked about. Groups that the request lists are not proven to be the caller's.
func himself(request any) subject {
	r := request.(*pb.GetAccessRequest)
	if len(r.GetGroups()) > 0 {
		return subject{kind: onWhole}
	}
	return subject{kind: onSelf, other: r.GetPrincipal()}
}

func whole(any) subject { return subject{kind: onWhole} }

func anything(any) subject { return subject{kind: onAny} }
