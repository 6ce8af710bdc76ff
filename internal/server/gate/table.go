package gate

import (
	"path"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// rule says what a method of the API needs.
type rule struct {
	role  access.Role
	about func(request any) subject // what the request is about
	own   bool                      // without a policy, only on the daemon's own socket
	who   people                    // where the policy asks for two people
}

// writes reports whether the method can write to ledgers. Of these roles only GetWriter does not.
func (r rule) writes() bool {
	return r.role == access.Reporter || r.role == access.Manager || r.role == access.Officer
}

// onlyReads reports whether the method, of this name, changes nothing and copies nothing away.
func (r rule) onlyReads(method string) bool { return !r.writes() && !r.own || method == "GetWriter" }

// OnlyReads reports whether a method, "/SERVICE/NAME", is of the API, changes nothing and copies nothing away.
func OnlyReads(method string) bool {
	name := path.Base(method)
	r, ok := table[name]
	return ok && r.onlyReads(name)
}

// people says who may do something where the policy asks for two people.
type people uint8

const (
	alone    people = iota // one person, as without
	together               // two: by Propose and Approve only
	oneOfTwo               // one of the two, who has the role: being the daemon's owner does not count
)

// subject is what a request is about.
type subject struct {
	kind   kind
	ledger string   // the ledger, or the dataset's record
	more   []string // further ledgers that the request names: the role is needed on every one of them
	other  string   // who is asked about; "" for the caller
	parent string   // of a ledger that is to be created; "" if it has none

	dataset string // of a ledger that is to be created; "" if it has none
	two     bool   // as together, for requests of which only some need two people
	one     bool   // as oneOfTwo, for requests of which only some are by one of the two
	checks  bool   // it asks whether something would be taken, and nothing is written
}

type kind uint8

const (
	onLedger kind = iota // the role is needed on subject.ledger, and on each of subject.more
	onNew                // on the name of a new ledger and, if it has them, on its parent and its dataset
	onWhole              // on everything
	onSelf               // nothing is needed to ask about oneself; about others, to have the role on everything
	onAny                // on anything at all; what is shown is chosen item by item
	onShown              // as onAny; the handler answers only if Passage.Shows says that the caller sees the dataset
	onStated             // as onShown; the caller must also see the dataset whose budget that one shares
)

// table has one rule for each method of the API.
var table = map[string]rule{
	"CreateLedger":      {access.Manager, created, false, alone},
	"GetLedger":         {access.Viewer, named, false, alone},
	"ListLedgers":       {access.Viewer, anything, false, alone},
	"CloseLedger":       {access.Manager, over(named), false, alone},
	"Report":            {access.Reporter, reported, false, alone},
	"ReportStream":      {access.Reporter, opened, false, alone},
	"Reserve":           {access.Reporter, onIts, false, alone},
	"Commit":            {access.Reporter, onIts, false, alone},
	"Release":           {access.Reporter, onIts, false, alone},
	"ReportSet":         {access.Reporter, members, false, alone},
	"ReserveSet":        {access.Reporter, members, false, alone},
	"CommitSet":         {access.Reporter, anything, false, alone}, // the handler asks for every ledger of the set
	"ReleaseSet":        {access.Reporter, anything, false, alone},
	"Expire":            {access.Manager, over(onIts), true, alone},
	"Free":              {access.Officer, over(onIts), true, together},
	"Refund":            {access.Officer, over(onIts), true, together},
	"Raise":             {access.Officer, over(onIts), true, together},
	"Reconcile":         {access.Officer, over(onIts), true, together},
	"Propose":           {access.Officer, over(onIts), true, oneOfTwo},
	"Approve":           {access.Officer, over(onIts), true, oneOfTwo},
	"Withdraw":          {access.Officer, over(onIts), true, alone},
	"Acknowledge":       {access.Manager, over(onIts), false, alone},
	"WatchLedger":       {access.Viewer, named, false, alone},
	"GetStatement":      {access.Viewer, named, false, alone},
	"GetWriter":         {access.Reporter, onIts, false, alone},
	"QueryPrivacy":      {access.Viewer, asked, false, alone},
	"QueryPrivacySet":   {access.Viewer, anything, false, alone}, // the handler asks for every ledger: Passage.Member
	"QueryPrivacyCurve": {access.Viewer, asked, false, alone},
	"QueryOverview":     {access.Viewer, anything, false, alone},
	"QueryHistory":      {access.Viewer, onIts, false, alone},
	"QuerySpending":     {access.Auditor, onIts, false, alone}, // it names principals, as ListEntries does
	"QueryForecast":     {access.Viewer, onIts, false, alone},
	"Calibrate":         {access.Viewer, asked, false, alone},
	"ListEntries":       {access.Auditor, onIts, false, alone},
	"ListRefusals":      {access.Auditor, onIts, false, alone}, // likewise
	"GetSignedHead":     {access.Viewer, onIts, false, alone},
	"GetStoreStatus":    {access.Auditor, whole, false, alone},
	"GetAccess":         {access.Auditor, himself, false, alone},
	"Backup":            {access.Administrator, whole, true, alone},

	"CreateDataset":       {access.Officer, registered, true, alone},
	"AmendDataset":        {access.Officer, amended, true, alone},
	"GetDataset":          {access.Viewer, shown, false, alone},
	"ListDatasets":        {access.Viewer, anything, false, alone},
	"GetDatasetStatement": {access.Viewer, stated, false, alone},
}

func named(request any) subject {
	return subject{kind: onLedger, ledger: request.(interface{ GetName() string }).GetName()}
}

func onIts(request any) subject {
	return subject{kind: onLedger, ledger: request.(interface{ GetLedger() string }).GetLedger()}
}

// over is for what changes more than counts. In a dataset's record it needs what AmendDataset needs: who
// manages the dataset's ledgers may create more of them, and not close the budget of everybody's.
func over(about func(request any) subject) func(request any) subject {
	return func(request any) subject {
		if s := about(request); !ledger.IsDataset(s.ledger) {
			return s
		}
		return whole(request)
	}
}

// maxMembers is how many ledgers a set has at most; a request with more is refused by its handler.
const maxMembers = 1000

// members are all ledgers of a set that the request names. Of a range of names only the handler
// knows which ledgers those are, and asks for each.
func members(request any) subject {
	names := request.(interface{ GetSet() *pb.LedgerSet }).GetSet().GetLedgers()
	if len(names) == 0 || len(names) > maxMembers {
		return subject{kind: onAny}
	}
	return subject{kind: onLedger, ledger: names[0], more: names[1:]}
}

// asked is onIts for questions, which may also be about a workload that is in no ledger.
func asked(request any) subject {
	if s := onIts(request); s.ledger != "" {
		return s
	}
	return subject{kind: onAny}
}

func created(request any) subject {
	spec := request.(*pb.CreateLedgerRequest).GetSpec()
	return subject{kind: onNew, ledger: spec.GetName(), parent: spec.GetParent(), dataset: spec.GetDatasetId()}
}

func opened(request any) subject {
	return subject{kind: onLedger, ledger: request.(*pb.ReportStreamRequest).GetOpen().GetLedger()}
}

// reported reads the ledger of a ReportRequest, which may not be decoded yet. As in protobuf, the
// last of several values counts. It is "" in bytes that are no message; those are refused later.
func reported(request any) subject {
	encoded, ok := request.([]byte)
	if !ok {
		s := onIts(request)
		r, ok := request.(interface{ GetCheckOnly() bool })
		s.checks = ok && r.GetCheckOnly()
		return s
	}
	s := subject{kind: onLedger}
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 {
			return subject{kind: onLedger}
		}
		m := protowire.ConsumeFieldValue(number, kind, encoded[n:])
		if m < 0 {
			return subject{kind: onLedger}
		}
		if number == 1 && kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(encoded[n:])
			s.ledger = string(text)
		}
		if number == 5 && kind == protowire.VarintType { // check_only
			value, _ := protowire.ConsumeVarint(encoded[n:])
			s.checks = value != 0
		}
		encoded = encoded[n+m:]
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

// registered is whole. A dataset with a budget of its own gives people more to spend, as a raise
// does; to register one as a proposal is to be one of the two.
func registered(request any) subject {
	r := request.(*pb.CreateDatasetRequest)
	return subject{kind: onWhole, two: len(r.GetSpec().GetBudgets()) > 0 && !r.GetPropose(), one: r.GetPropose()}
}

// amended is whole. To change a dataset's budget or caps, or to confirm it, needs two people.
func amended(request any) subject {
	amend := request.(*pb.AmendDatasetRequest).GetAmend()
	return subject{kind: onWhole, two: len(amend.GetBudgets()) > 0 || amend.GetCaps() != nil || amend.GetConfirm()}
}

func whole(any) subject { return subject{kind: onWhole} }

func anything(any) subject { return subject{kind: onAny} }

func shown(request any) subject {
	id := request.(interface{ GetId() string }).GetId()
	return subject{kind: onShown, ledger: ledger.DatasetName(id)}
}

func stated(request any) subject {
	s := shown(request)
	s.kind = onStated
	return s
}
