// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/login"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// This is the one page that writes. Whoever sends its form must have seen the page: the form carries the session's
// token and a digest of what the page has shown. The door has refused before what another site may have sent. Who
// approves is whom the login proves, and the service decides whether they may, as for every caller.

// approvalForm bounds the form, in bytes.
const approvalForm = 16 << 10

// approvalBody is one thing that waits, which others may have proposed as well.
type approvalBody struct {
	waiting
	Equal   []proposal // of the same, by position
	Effect  effect
	Point   *pb.HistoryPoint // how the ledger stands; nil if that cannot be told now
	Budgets []string
	Delta   float64

	Chosen        uint64 // the proposal that the button approves; 0 if there is no button
	Digest, Token string
	Why           string // there is no button
	Again         string // the address of a new login that gives one
	Done          *pb.Entry
}

func (s *site) approval(r *http.Request) (*page, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	if text := q.Get("done"); text != "" {
		return s.approved(r, name, text)
	}
	at, err := position("proposal", q.Get("proposal"))
	if err != nil {
		return nil, err
	}
	b, err := s.look(r.Context(), name, at)
	if err != nil {
		return nil, err
	}
	s.button(r, &b)
	return &page{Title: "Approve a proposal", Section: "approvals", Body: b}, nil
}

// position reads the position of an entry.
func position(key, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, status.Errorf(codes.InvalidArgument, "%s: %q; allowed: the position of an entry", key, text)
	}
	return n, nil
}

// look finds what waits in a ledger at a position, with what equals it, and what it would do.
func (s *site) look(ctx context.Context, name string, at uint64) (b approvalBody, err error) {
	got, err := s.api.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
	if err != nil {
		return b, err
	}
	l := got.GetLedger()
	b.waiting = waitingIn(name, l)
	var first *pb.Propose
	for _, p := range b.Proposals {
		if p.GetPosition() == at {
			first = p.GetPropose()
			b.Equal = append(b.Equal, p)
		}
	}
	if len(b.Equal) == 0 {
		return b, status.Errorf(codes.FailedPrecondition, "proposal %d of %s does not wait any more: somebody has "+
			"approved it or taken it back, which the ledger's entries say", at, name)
	}
	for _, group := range b.Joined() {
		if sameAction(group[0].GetPropose(), first) {
			b.Equal = group
		}
	}
	b.Delta = questions.UsualDelta
	if history, err := s.api.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: name, Points: 2,
		Progress: true}); err == nil && len(history.GetPoints()) > 0 {
		b.Point, b.Budgets = history.GetPoints()[len(history.GetPoints())-1], history.GetBudgets()
		b.Delta = history.GetDelta()
	}
	b.Effect = s.effectOf(ctx, l, first, b.Delta)
	b.Digest = digestOf(l, b.Equal)
	return b, nil
}

// digestOf stands for what somebody has seen before they approve it: what is proposed, by whom and until when, in which
// ledger, and the limits that it would change.
func digestOf(l *pb.Ledger, proposals []proposal) string {
	seen := &pb.Ledger{Name: l.GetName(), StoreId: l.GetStoreId(), CreateTime: l.GetCreateTime(), Closed: l.GetClosed(),
		NeedsReconciling: l.GetNeedsReconciling(), Spec: l.GetSpec()}
	for _, b := range l.GetBudgets() {
		seen.Budgets = append(seen.Budgets, &pb.BudgetBalance{Budget: b.GetBudget()})
	}
	for _, p := range l.GetPlan() {
		seen.Plan = append(seen.Plan, &pb.PlanBalance{Mechanism: p.GetMechanism(), Planned: p.GetPlanned()})
	}
	for _, p := range proposals {
		seen.Proposals = append(seen.Proposals, p.Proposal)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(seen)
	if err != nil {
		return "" // which no form has
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// button adds the button, or says why there is none.
func (s *site) button(r *http.Request, b *approvalBody) {
	caller, _ := inside.From(r.Context())
	b.Why = whoWrites(caller)
	if b.Why == "" {
		b.Why = s.mayNot(r.Context(), b.Name)
	}
	if b.Why == "" && b.Equal[0].GetPropose() == nil {
		b.Why = "The proposal is too long for this page; accountctl ledger entries shows it whole."
	}
	if b.Why != "" {
		return
	}
	for _, p := range b.Equal {
		if !p.Over && p.GetPrincipal() != caller.Session.Principal {
			b.Chosen = cmp.Or(b.Chosen, p.GetPosition())
		}
	}
	switch {
	case b.Chosen == 0:
		b.Why = "You have proposed it yourself, or its time is over. Another officer has to approve it in time."
	case !caller.Session.Fresh:
		b.Why, b.Chosen = "To approve something the login must be at most 10 minutes old.", 0
		b.Again = login.Again("/approval?" + url.Values{"name": {b.Name},
			"proposal": {strconv.FormatUint(b.Equal[0].GetPosition(), 10)}}.Encode())
	default:
		b.Token = caller.Session.Token
	}
}

// whoWrites says why a caller gets no button whoever they are: only a login proves that a person sits there.
func whoWrites(c inside.Caller) string {
	switch {
	case !c.CanLogIn:
		return "Nobody can log in at this address, so the command approves it."
	case len(c.Metadata["authorization"]) > 0:
		return "You have come with a token. Only a login approves here."
	case c.Session.Principal == "":
		return "Log in to approve it here."
	}
	return ""
}

// mayNot says why the access policy does not let the caller approve anything in a ledger; empty if it does.
func (s *site) mayNot(ctx context.Context, name string) string {
	answer, err := s.api.GetAccess(ctx, &pb.GetAccessRequest{Method: "Approve", Ledger: name})
	switch {
	case err != nil:
		return sentence(status.Convert(err).Message())
	case !answer.GetAllowed():
		return sentence("you may not approve it: " + answer.GetReason())
	}
	return ""
}

// approve takes the form.
func (s *site) approve(w http.ResponseWriter, r *http.Request) {
	to, err := s.decide(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// decide checks the form against what waits now and approves it. It returns the page that shows what was done.
func (s *site) decide(w http.ResponseWriter, r *http.Request) (to string, err error) {
	caller, _ := inside.From(r.Context())
	if why := whoWrites(caller); why != "" {
		return "", status.Error(codes.Unauthenticated, why)
	}
	r.Body = http.MaxBytesReader(w, r.Body, approvalForm)
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" {
		return "", status.Error(codes.InvalidArgument, "the form cannot be read; allowed: that of the approval's page")
	}
	field, most := map[string]string{}, 4
	if said := r.PostForm["comment"]; len(said) == 1 { // a form of others than browsers may leave it out
		field["comment"], most = strings.TrimSpace(said[0]), 5
	}
	for _, key := range []string{"token", "name", "proposal", "digest"} {
		if len(r.PostForm[key]) != 1 || len(r.PostForm) != most {
			return "", status.Error(codes.InvalidArgument, "the form does not have its four fields, each once; "+
				"allowed: that of the approval's page")
		}
		field[key] = r.PostForm.Get(key)
	}
	if caller.Session.Token == "" ||
		subtle.ConstantTimeCompare([]byte(field["token"]), []byte(caller.Session.Token)) != 1 {
		return "", status.Error(codes.FailedPrecondition, "the form is not of this login; allowed: one that you have "+
			"loaded since you logged in, so load the page again")
	}
	if !caller.Session.Fresh {
		return "", status.Error(codes.FailedPrecondition, "your login is older than 10 minutes, and nothing was "+
			"approved; load the approval's page again, log in there, and approve it then")
	}
	at, err := position("proposal", field["proposal"])
	if err != nil {
		return "", err
	}
	b, err := s.look(r.Context(), field["name"], at)
	if err != nil {
		return "", err
	}
	if b.Digest == "" || subtle.ConstantTimeCompare([]byte(field["digest"]), []byte(b.Digest)) != 1 {
		return "", status.Error(codes.FailedPrecondition, "the proposal, or the ledger's limits, have changed since "+
			"you looked at them, and nothing was approved; load the approval's page again")
	}
	// The lane is the same for the same form, so one that is sent twice is done once.
	lane := &pb.Lane{Ledger: b.Name, Writer: "request/page-" + b.Digest[:32] + "-" + strconv.FormatUint(at, 10),
		Sequence: 1}
	answer, err := s.api.Approve(r.Context(), &pb.ApproveRequest{Lane: lane,
		Approve: &pb.Approve{Proposal: at, Comment: field["comment"]}})
	if err != nil {
		return "", err
	}
	return "/approval?" + url.Values{"name": {b.Name},
		"done": {strconv.FormatUint(answer.GetReceipt().GetPosition(), 10)}}.Encode(), nil
}

// approved shows an entry that did what was proposed, as the ledger has it: an address alone makes nobody believe so.
func (s *site) approved(r *http.Request, name, text string) (*page, error) {
	at, err := position("done", text)
	if err != nil {
		return nil, err
	}
	answer, err := s.api.ListEntries(r.Context(), &pb.ListEntriesRequest{Ledger: name, StartPosition: at,
		EndPosition: at, PageSize: 1})
	if err != nil {
		return nil, err
	}
	if len(answer.GetEntries()) != 1 || answer.GetEntries()[0].GetApproval() == nil {
		return nil, status.Errorf(codes.NotFound, "entry %d of %s approves nothing", at, name)
	}
	return &page{Title: "Approved", Section: "approvals",
		Body: approvalBody{waiting: waiting{Name: name}, Done: answer.GetEntries()[0]}}, nil
}
