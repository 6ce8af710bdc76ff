// SPDX-License-Identifier: Apache-2.0

// Package gate lets calls of the API pass, or not: an option of each method says which role it needs and what
// for, package access decides by the policy in force, and the gate keeps
// that policy up to date. A call that is open when the policy changes is decided again.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ErrDenied: the policy does not allow it. The same error comes whether the ledger exists or not.
var ErrDenied = errors.New("not allowed by the access policy")

// ErrNotOwnSocket: without a policy, only the daemon's own socket takes it.
var ErrNotOwnSocket = errors.New("caller: not on the daemon's own socket; allowed: accountant.sock in its data " +
	"directory, on the daemon's machine and as its user; use " + ledger.OwnSocket)

// ErrOnlyReads: nothing proves who calls, and it comes over HTTP.
var ErrOnlyReads = errors.New("nothing proves who you are, and over HTTP only those may write of whom that is " +
	"proven; allowed: a token (Authorization: Bearer TOKEN), a client certificate or a login, or a call over gRPC")

// ErrUnrecorded: an audit could not find the policy under which something would be written now.
var ErrUnrecorded = errors.New("the access policy is not recorded yet")

// ErrTwoPeople: the policy asks for two people.
var ErrTwoPeople = errors.New("this needs two people")

// Config configures a Gate.
type Config struct {
	Path   string                                 // of the policy's file; "" for none
	Spec   func(name string) (ledger.Spec, error) // of a ledger that exists
	Logger *slog.Logger

	// Record keeps what a policy says (nothing if there is none) where an audit finds it. A changed policy
	// is in force only once that is done. The first one is in force from the start, but no call can write
	// anything before it is recorded.
	Record func(text []byte) (position uint64, err error)

	// Newest returns what the policy says that was recorded last, by whichever daemon of the same store, and
	// nothing if there is none. All of them follow it. Nil: no other daemon serves the ledgers.
	Newest func() (text []byte, position uint64, err error)
	// Changed says that another daemon may have recorded a policy: Newest is asked at once. Nil: nobody says so,
	// and Newest is asked after each Interval alone, as it is where what Changed should have said was lost.
	Changed <-chan struct{}
	// Own are rules of this daemon, which hold besides those of the policy. Adopted is told which rules hold, from
	// the start and whenever that changes. Nil: nobody asks.
	Own     access.Rules
	Adopted func(access.Rules)

	// Interval is how often the policy's file is read, and Newest asked. Zero: a second, which is small enough
	// that nothing cheaper is needed, and what the file system says of times and names is not relied on.
	Interval time.Duration
}

// Gate decides about calls. It is safe for concurrent use.
type Gate struct {
	config  Config
	policy  atomic.Pointer[access.Policy] // nil: none
	bad     atomic.Pointer[string]        // why the newest file is not in force; nil if it is
	first   atomic.Pointer[string]        // why the first policy is not recorded; nil if one is
	other   atomic.Pointer[string]        // why all daemons follow another one than the file's; nil if they do not
	unheard atomic.Pointer[error]         // why Newest failed last
	heard   atomic.Pointer[time.Time]     // when Newest last said which policy that is; nil: not yet

	// Of Begin and Reload alone: the policy in the file, nil if there is none, and the digest of a newer file,
	// which is not in force yet.
	own   *access.Policy
	found [32]byte

	mu       sync.Mutex
	lineages map[string]lineage       // of ledgers that exist, which never change
	open     map[*Passage]func(error) // streams, and what ends them
}

// lineage is what a ledger's rights follow from besides its name.
type lineage struct {
	parents []string
	dataset string
}

// maxLineages bounds how many are remembered; each takes about a hundred bytes.
const maxLineages = 100_000

// New returns a gate with the policy in config.Path in force, if that is not "". A policy that
// cannot be read is an error.
func New(config Config) (*Gate, error) {
	config.Interval = cmp.Or(config.Interval, time.Second)
	g := &Gate{config: config, lineages: map[string]lineage{}, open: map[*Passage]func(error){}}
	if config.Path == "" {
		g.apply(nil)
		return g, nil
	}
	p, err := read(config.Path)
	if err != nil {
		return nil, err
	}
	g.policy.Store(p)
	g.own = p
	g.apply(p)
	return g, nil
}

// apply tells who keeps the rules which ones hold under a policy, nil for none.
func (g *Gate) apply(policy *access.Policy) {
	if g.config.Adopted != nil {
		g.config.Adopted(g.rules(policy))
	}
}

func (g *Gate) rules(policy *access.Policy) access.Rules {
	if policy == nil {
		return g.config.Own
	}
	return policy.Rules.With(g.config.Own)
}

// lonely says that this daemon has rules which the other daemons of its store do not have.
func (g *Gate) lonely() string {
	var shared access.Rules
	policy := g.policy.Load()
	if policy != nil {
		shared = policy.Rules
	}
	if g.config.Newest == nil || g.rules(policy) == shared {
		return ""
	}
	return fmt.Sprintf("this daemon was started with rules that the other daemons of the store do not keep: here "+
		"%v, in the access policy %v; write them into the policy, under \"store\", and leave out the flags",
		g.rules(policy), shared)
}

// Policy returns the policy in force; nil if there is none, and everybody may do everything that
// does not need the daemon's own socket.
func (g *Gate) Policy() *access.Policy { return g.policy.Load() }

// Text returns the text of the policy in force, nothing if there is none.
func (g *Gate) Text() []byte {
	if p := g.policy.Load(); p != nil {
		return p.Text
	}
	return nil
}

// Problem says why the newest policy file is not in force, why that in force is not recorded, or that other
// daemons have put another one in force; "" if there is no such problem.
func (g *Gate) Problem() string {
	for _, text := range []*string{g.bad.Load(), g.first.Load(), g.other.Load()} {
		if text != nil {
			return *text
		}
	}
	return g.lonely()
}

// Identity is who calls, as far as that is proven.
type Identity struct {
	access.Caller
	// Owner is set on the daemon's own socket, which only its owner can open. What that allows is asked of
	// Passage.owns alone: everything, but where several daemons serve the ledgers only until the first policy
	// is in force, because none of the daemons' owners owns those ledgers.
	Owner bool

	OnlyReads bool // over HTTP, where nothing proves who calls: may change nothing
}

// Passage is what one call may do.
type Passage struct {
	gate    *Gate
	who     Identity
	method  string
	rule    rule
	subject subject
	decided atomic.Pointer[verdict]
	let     atomic.Pointer[verdict] // the last one by which the call, or a stream's message, was let in
}

// verdict is what a policy says of a call.
type verdict struct {
	policy  *access.Policy
	err     error
	by      []*access.Grant // what allows it, one for each right that it needs
	manages bool            // the caller is a manager of the ledgers
	holder  string          // to whom its reservations belong; see access.Policy.Holder
}

// Enter decides whether a call of the method, of the form "/package.Service/Method", may pass.
// The request is a message, or the encoded bytes of a ReportRequest. The passage is not nil even
// if the call may not pass.
func (g *Gate) Enter(method string, who Identity, request any) (*Passage, error) {
	p := &Passage{gate: g, who: who, method: method}
	r, ok := rules()[method]
	if !ok {
		p.decided.Store(&verdict{policy: g.policy.Load(), err: fmt.Errorf("%w: there is no rule for %s",
			ErrDenied, path.Base(method))})
		return p, p.decided.Load().err
	}
	p.rule, p.subject = r, r.about(request)
	if p.subject.checks {
		p.rule.role = access.Viewer // it is told what GetLedger tells, in other words
	}
	unrecorded := g.first.Load() // before the policy is looked at, which is then in force as it was recorded
	if err := p.Check(); err != nil {
		return p, err
	}
	if who.OnlyReads && !r.reads && !p.subject.checks {
		return p, ErrOnlyReads
	}
	if unrecorded != nil && r.writes() {
		return p, fmt.Errorf("%w, and nothing is written before: %s", ErrUnrecorded, *unrecorded)
	}
	return p, nil
}

// Check decides again if the policy has changed since the last time. Otherwise it takes no time.
func (p *Passage) Check() error {
	if err := p.gate.deaf(); err != nil && p.subject.kind != onSelf {
		return err
	}
	v := p.verdict()
	if v.err == nil {
		p.let.Store(v)
	}
	return v.err
}

// owns reports whether the caller may do everything by owning the daemon.
func (p *Passage) owns(policy *access.Policy) bool {
	return p.who.Owner && (policy == nil || p.gate.config.Newest == nil)
}

func (p *Passage) verdict() *verdict {
	policy := p.gate.policy.Load()
	v := p.decided.Load()
	if v == nil || v.policy != policy {
		v = p.decide(policy)
		p.decided.Store(v)
	}
	return v
}

func (p *Passage) decide(policy *access.Policy) *verdict {
	v := p.rights(policy)
	if v.err == nil && policy != nil && policy.ApproveWithin > 0 && (p.rule.people == pb.Access_TWO || p.subject.two) {
		v.err = fmt.Errorf("%w by the access policy: propose it (accountctl with --propose), and another officer "+
			"approves it within %v (accountctl approvals approve)", ErrTwoPeople, policy.ApproveWithin)
	}
	return v
}

// rights is decide as far as one person is concerned.
func (p *Passage) rights(policy *access.Policy) *verdict {
	v := &verdict{policy: policy}
	// Whoever owns the daemon can be several users, such as root, and the policy names none of them.
	two := policy != nil && policy.ApproveWithin > 0 && (p.rule.people == pb.Access_ONE_OF_TWO || p.subject.one)
	switch {
	case p.owns(policy) && !two:
		v.manages = true
		if policy != nil && p.subject.kind == onLedger {
			v.holder = policy.Holder(p.who.Caller, p.gate.target(p.subject.ledger))
		}
		return v
	case policy == nil:
		if p.rule.own {
			v.err = ErrNotOwnSocket
		}
		return v
	}
	p.allow(v, policy)
	if v.err == nil && p.subject.kind == onNew {
		v.manages = true
	}
	if v.err == nil && p.subject.kind == onLedger && (p.rule.role == access.Reporter || p.rule.role == access.Manager) {
		t := p.gate.target(p.subject.ledger)
		v.holder = policy.Holder(p.who.Caller, t)
		v.manages = policy.Decide(p.who.Caller, access.Manager, t).Allowed
		for _, name := range p.subject.more {
			v.manages = v.manages && policy.Decide(p.who.Caller, access.Manager, p.gate.target(name)).Allowed
		}
	}
	return v
}

// allow decides about each right that the call needs, until one is missing.
func (p *Passage) allow(v *verdict, policy *access.Policy) {
	need := func(d access.Decision, on string) {
		switch {
		case v.err != nil:
		case d.Allowed:
			v.by = append(v.by, d.Grant)
		default:
			v.err = p.need(policy, on)
		}
	}
	role := p.rule.role
	switch s := p.subject; s.kind {
	case onSelf:
		if s.other == "" || s.other == p.who.Principal {
			return
		}
		fallthrough
	case onWhole:
		need(policy.Decide(p.who.Caller, role, access.Target{}), "everything")
	case onAny:
		need(policy.Anywhere(p.who.Caller, role), "at least one ledger")
	case onNew:
		named := access.Target{Ledger: s.ledger}
		need(policy.Decide(p.who.Caller, role, named), named.String())
		if s.parent != "" {
			need(p.decideOn(policy, s.parent))
		}
		of := access.Target{Dataset: s.dataset}
		if of.Dataset == "" && s.parent != "" { // which it takes from its parent
			of.Dataset = p.gate.target(s.parent).Dataset
		}
		if of.Dataset != "" {
			need(policy.Decide(p.who.Caller, role, of), of.String())
		}
	case onLedger:
		need(p.decideOn(policy, s.ledger))
		for _, name := range s.more {
			need(p.decideOn(policy, name))
		}
	}
}

// decideOn decides about a ledger: by its name if that is enough, otherwise by what it is part of.
// It also returns how messages call the ledger.
func (p *Passage) decideOn(policy *access.Policy, name string) (access.Decision, string) {
	named := access.Target{Ledger: name}
	d := policy.Decide(p.who.Caller, p.rule.role, named)
	if !d.Allowed && policy.Anywhere(p.who.Caller, p.rule.role).Allowed { // others have nothing looked up
		d = policy.Decide(p.who.Caller, p.rule.role, p.gate.target(name))
	}
	return d, named.String()
}

// missingRight is the error of a call that the policy does not allow.
type missingRight struct {
	principal, method, on, contact string
	role                           access.Role
}

// Error tells the caller who they are, what is needed, on what, and whom to ask.
func (e *missingRight) Error() string {
	return fmt.Sprintf("%v: you are %s, and %s needs the role %s on %s; ask %s", ErrDenied, e.principal, e.method,
		e.role, e.on, e.contact)
}

// Unwrap makes it an ErrDenied.
func (e *missingRight) Unwrap() error { return ErrDenied }

// about tells the same to somebody else.
func (e *missingRight) about() string {
	return fmt.Sprintf("%s needs the role %s on %s, and no grant gives it to %s", e.method, e.role, e.on, e.principal)
}

func (p *Passage) need(policy *access.Policy, on string) error {
	return &missingRight{p.who.Principal, path.Base(p.method), on,
		cmp.Or(policy.Contact, "whoever runs the daemon"), p.rule.role}
}

// entered is the verdict by which the call was let in, or the newest message of a stream. A policy that has come into
// force since decides about neither.
func (p *Passage) entered() *verdict {
	if v := p.let.Load(); v != nil {
		return v
	}
	return p.verdict()
}

// Policy returns the position of the access policy that let the call in; 0 if none was in force.
func (p *Passage) Policy() uint64 {
	if policy := p.entered().policy; policy != nil {
		return policy.Position
	}
	return 0
}

// Caller returns the principal whose rights as a ledger's creator count (ledger.Request.Caller). It
// is "" for a caller who has the right to close the ledger and to reserve most of it anyway.
func (p *Passage) Caller() string {
	if v := p.entered(); v.manages {
		return ""
	}
	return p.who.Principal
}

// proposalTime is how long proposals may be approved where no policy says it.
const proposalTime = 72 * time.Hour

// ApproveWithin returns how long a proposal of the call may be approved.
func (p *Passage) ApproveWithin() time.Duration {
	if policy := p.entered().policy; policy != nil && policy.ApproveWithin > 0 {
		return policy.ApproveWithin
	}
	return proposalTime
}

// Trusted says whom the policy leaves to be trusted, in whole sentences for a statement.
func (p *Passage) Trusted() (list []string) {
	policy := p.entered().policy
	if policy == nil {
		list = append(list, "No access policy is in force: everybody who can reach the accountant may read and charge "+
			"every ledger.")
	}
	if policy == nil || policy.ApproveWithin == 0 {
		list = append(list, "One person alone may raise a budget, refund a charge, accept the loss after a restore, "+
			"register a dataset with a budget of its own, and change a dataset's budget and caps. Nobody else has to "+
			"approve it.")
	}
	return list
}

// MayPropose reports whether somebody else may have the right that the call needs, on the ledger that it is about.
// Of somebody whom a token's issuer has named, groups are not known, so every grant to a group of that issuer counts.
func (p *Passage) MayPropose(principal string) bool {
	policy := p.entered().policy
	return policy == nil || policy.Perhaps(principal, p.rule.role, p.gate.target(p.subject.ledger))
}

// Person returns the person whose principal this is; see access.Policy.Person.
func (p *Passage) Person(principal string) string {
	if policy := p.entered().policy; policy != nil {
		return policy.Person(principal)
	}
	return principal
}

// Holder returns the group of callers to which the call's reservations belong; see
// access.Policy.Holder.
func (p *Passage) Holder() string { return p.entered().holder }

// Member returns nil if the call may be about this ledger, one of several that it names, and otherwise an
// error that is the same whether the ledger exists or not.
func (p *Passage) Member(name string) error {
	policy := p.gate.policy.Load()
	if policy == nil || p.owns(policy) {
		return nil
	}
	d, on := p.decideOn(policy, name)
	if d.Allowed {
		return nil
	}
	return p.need(policy, on)
}

// Shows reports whether a ledger or a dataset with this spec may be shown to the caller.
func (p *Passage) Shows(spec ledger.Spec) bool { return p.shows(p.gate.targetOf(spec)) }

// States reports whether the statement of a dataset may be shown to a caller to whom the dataset
// may. A dataset that shares another one's budget has that one's statement, which names all who
// spend from it.
func (p *Passage) States(spec ledger.Spec) bool {
	return spec.Dataset == nil || spec.Dataset.BudgetOf == "" || p.shows(p.gate.target(spec.Dataset.BudgetOf))
}

func (p *Passage) shows(t access.Target) bool {
	policy := p.gate.policy.Load()
	return policy == nil || p.owns(policy) || policy.Decide(p.who.Caller, p.rule.role, t).Allowed
}

// OnLoss calls end once, in a goroutine of its own, if a change of the policy takes away the right
// to the call. What it returns must be called when the call has ended.
func (p *Passage) OnLoss(end func(error)) (stop func()) {
	p.gate.mu.Lock()
	p.gate.open[p] = end
	p.gate.mu.Unlock()
	p.gate.reconsider(p) // the policy may have changed since it was decided
	return func() {
		p.gate.mu.Lock()
		defer p.gate.mu.Unlock()
		delete(p.gate.open, p)
	}
}

// reconsider ends a stream that has lost its right.
func (g *Gate) reconsider(p *Passage) {
	err := p.Check()
	if err == nil {
		return
	}
	g.mu.Lock()
	end := g.open[p]
	delete(g.open, p)
	g.mu.Unlock()
	if end != nil {
		go end(err)
	}
}

// adopt puts a policy in force, and ends the streams that it does not allow.
func (g *Gate) adopt(policy *access.Policy) {
	g.policy.Store(policy)
	g.apply(policy)
	g.mu.Lock()
	streams := make([]*Passage, 0, len(g.open))
	for p := range g.open {
		streams = append(streams, p)
	}
	g.mu.Unlock()
	for _, p := range streams {
		g.reconsider(p)
	}
}

// target returns what rights on a ledger follow from. For one that does not exist, or cannot be
// read, that is its name alone.
func (g *Gate) target(name string) access.Target {
	g.mu.Lock()
	l, known := g.lineages[name]
	g.mu.Unlock()
	if !known {
		spec, err := g.config.Spec(name)
		if err != nil {
			return access.Target{Ledger: name}
		}
		return g.targetOf(spec)
	}
	return access.Target{Ledger: name, Parents: l.parents, Dataset: l.dataset}
}

// targetOf is target of a ledger whose spec is known.
func (g *Gate) targetOf(spec ledger.Spec) access.Target {
	t := access.Target{Ledger: spec.Name, Dataset: spec.DatasetID}
	if spec.Parent != "" {
		of := g.target(spec.Parent) // a parent exists before its child, so this ends
		t.Parents = append([]string{spec.Parent}, of.Parents...)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lineages) >= maxLineages {
		clear(g.lineages)
	}
	g.lineages[spec.Name] = lineage{t.Parents, t.Dataset}
	return t
}
