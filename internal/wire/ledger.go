package wire

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToAdjacency converts an adjacency; field is its path in errors.
func ToAdjacency(field string, a pb.Workload_Adjacency) (mechanism.Adjacency, error) {
	switch a {
	case pb.Workload_ADD_OR_REMOVE_ONE:
		return mechanism.AddOrRemoveOne, nil
	case pb.Workload_REPLACE_ONE:
		return mechanism.ReplaceOne, nil
	case pb.Workload_ZERO_OUT:
		return mechanism.ZeroOut, nil
	}
	const allowed = "ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT"
	if a == pb.Workload_ADJACENCY_UNSPECIFIED {
		return 0, absent(field, allowed)
	}
	return 0, invalid(field, a.String(), allowed)
}

// FromAdjacency is the inverse of ToAdjacency; an invalid adjacency becomes
// ADJACENCY_UNSPECIFIED.
func FromAdjacency(a mechanism.Adjacency) pb.Workload_Adjacency {
	switch a {
	case mechanism.AddOrRemoveOne:
		return pb.Workload_ADD_OR_REMOVE_ONE
	case mechanism.ReplaceOne:
		return pb.Workload_REPLACE_ONE
	case mechanism.ZeroOut:
		return pb.Workload_ZERO_OUT
	}
	return pb.Workload_ADJACENCY_UNSPECIFIED
}

// ToEvents converts events that are valid under adj; field is the list's path
// in errors: "charge.events". An empty list is for the caller to judge.
func ToEvents(adj mechanism.Adjacency, field string, events []*pb.Event) ([]mechanism.Event, error) {
	out, err := toEvents(field, events)
	if err != nil {
		return nil, err
	}
	if err := checkEvents(adj, field, out); err != nil {
		return nil, err
	}
	return out, nil
}

// toEvents converts without a check of ranges.
func toEvents(field string, events []*pb.Event) ([]mechanism.Event, error) {
	out := make([]mechanism.Event, len(events))
	for i, e := range events {
		if len(e.ProtoReflect().GetUnknown()) > 0 {
			return nil, known(fmt.Sprintf("%s[%d]", field, i), e)
		}
		m, err := toMechanism(e.GetMechanism(), 0)
		if err != nil {
			return nil, inEvent(field, i, err)
		}
		out[i] = mechanism.Event{Mechanism: m, Count: e.GetCount()}
	}
	return out, nil
}

func checkEvents(adj mechanism.Adjacency, field string, events []mechanism.Event) error {
	for i, e := range events {
		if err := e.Check(adj); err != nil {
			return inEvent(field, i, err)
		}
	}
	return nil
}

// inEvent gives an error its path below event i. What a descriptor's own Check
// says starts at the kind ("gaussian.scale"), one level below "mechanism".
func inEvent(field string, i int, err error) error {
	e, ok := fromDomain(err).(*InvalidError)
	if !ok {
		return under(fmt.Sprintf("%s[%d]", field, i), err)
	}
	if e.Field == "adjacency" {
		return e
	}
	if e.Field != "count" && e.Field != "mechanism" {
		e = under("mechanism", e).(*InvalidError)
	}
	return under(fmt.Sprintf("%s[%d]", field, i), e)
}

// FromEvents is the inverse of ToEvents.
func FromEvents(events []mechanism.Event) []*pb.Event {
	out := make([]*pb.Event, len(events))
	for i, e := range events {
		out[i] = &pb.Event{Mechanism: FromMechanism(e.Mechanism), Count: e.Count}
	}
	return out
}

// ToWorkload converts a workload of at most MaxWorkloadEvents events, possibly
// none. Fields in errors start at the workload: "events[0].count".
func ToWorkload(w *pb.Workload) (name string, c mechanism.Composition, err error) {
	if err := checkText("name", w.GetName(), maxText); err != nil {
		return "", c, err
	}
	adj, err := ToAdjacency("adjacency", w.GetAdjacency())
	if err != nil {
		return "", c, err
	}
	if n := len(w.GetEvents()); n > MaxWorkloadEvents {
		return "", c, invalid("events", fmt.Sprintf("%d events", n), fmt.Sprintf("at most %d", MaxWorkloadEvents))
	}
	events, err := ToEvents(adj, "events", w.GetEvents())
	if err != nil {
		return "", c, err
	}
	c, err = mechanism.Compose(adj, events)
	if err != nil {
		return "", c, fromDomain(err)
	}
	return w.GetName(), c, nil
}

// ToCharge converts a charge of 1 to MaxChargeEvents events that are valid
// under adj. Fields in errors start with "charge.".
func ToCharge(adj mechanism.Adjacency, c *pb.Charge) (ledger.Charge, error) {
	charge, err := toCharge(c)
	if err != nil {
		return ledger.Charge{}, err
	}
	if err := checkEvents(adj, "charge.events", charge.Events); err != nil {
		return ledger.Charge{}, err
	}
	return charge, nil
}

// toCharge converts without a check of the events' ranges.
func toCharge(c *pb.Charge) (ledger.Charge, error) {
	if err := known("charge", c); err != nil {
		return ledger.Charge{}, err
	}
	if err := checkEventNumber(len(c.GetEvents())); err != nil {
		return ledger.Charge{}, err
	}
	events, err := toEvents("charge.events", c.GetEvents())
	if err != nil {
		return ledger.Charge{}, err
	}
	labels, err := toLabels("charge.labels", c.GetLabels())
	if err != nil {
		return ledger.Charge{}, err
	}
	return ledger.Charge{Events: events, Labels: labels}, nil
}

func checkEventNumber(n int) error {
	const allowed = "1 to 1,000 events"
	switch {
	case n == 0:
		return absent("charge.events", allowed)
	case n > MaxChargeEvents:
		return invalid("charge.events", fmt.Sprintf("%d events", n), allowed)
	}
	return nil
}

// FromCharge is the inverse of ToCharge.
func FromCharge(c ledger.Charge) *pb.Charge {
	return &pb.Charge{Events: FromEvents(c.Events), Labels: fromLabels(c.Labels)}
}

// ToClose converts the reason for closing a ledger, at most 1,024 bytes.
func ToClose(reason string) (ledger.Close, error) {
	if err := checkText("reason", reason, maxReason); err != nil {
		return ledger.Close{}, err
	}
	return ledger.Close{Reason: reason}, nil
}

const requestPrefix = "request/"

// ToWriter makes a writer of its principal and its name: a UUID as canonical
// lower-case text, not the nil UUID, or "request/X" where X is 1 to 128 bytes of
// [A-Za-z0-9._-].
func ToWriter(principal, name string) (ledger.Writer, error) {
	w := ledger.Writer{Principal: principal, Name: name}
	return w, checkWriter(w)
}

func checkWriter(w ledger.Writer) error {
	if err := checkPrincipal(w.Principal); err != nil {
		return err
	}
	if isUUID(w.Name) || isRequestKey(w.Name) {
		return nil
	}
	const allowed = `a random UUID in lower case, or "request/X" with X of 1 to 128 bytes of [A-Za-z0-9._-]`
	if w.Name == "" {
		return absent("writer", allowed)
	}
	return invalid("writer", show(w.Name), allowed)
}

func isRequestKey(name string) bool {
	key, ok := strings.CutPrefix(name, requestPrefix)
	if !ok || key == "" || len(key) > maxRequestKey {
		return false
	}
	for i := 0; i < len(key); i++ {
		if c := key[i]; !isNameByte(c) && !('A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

func checkPrincipal(principal string) error {
	if principal == "" {
		return absent("principal", "1 to 256 bytes")
	}
	return checkText("principal", principal, maxText)
}

// CheckSequence refuses 0, and all but 1 in the lane of a "request/X": that is
// the key of one charge.
func CheckSequence(w ledger.Writer, sequence uint64) error {
	single := strings.HasPrefix(w.Name, requestPrefix)
	switch {
	case single && sequence != 1:
		return invalid("sequence", fmt.Sprint(sequence), `1 with the writer "request/X"`)
	case sequence == 0:
		return invalid("sequence", "missing or 0", "a whole number ≥ 1")
	}
	return nil
}

// CheckStreamWriter refuses "request/X" as the writer of a stream.
func CheckStreamWriter(w ledger.Writer) error {
	if !isUUID(w.Name) {
		return invalid("open.writer", show(w.Name), "a random UUID in lower case")
	}
	return nil
}

// ToSpec converts a ledger's spec. What this version cannot keep, it refuses:
// PLAN, FILTER, plan and budgets. Fields in errors start with "spec.".
func ToSpec(s *pb.LedgerSpec) (ledger.Spec, error) {
	spec, err := toSpec(s)
	if err != nil {
		return ledger.Spec{}, under("spec", err)
	}
	return spec, nil
}

func toSpec(s *pb.LedgerSpec) (ledger.Spec, error) {
	adj, err := ToAdjacency("adjacency", s.GetAdjacency())
	if err != nil {
		return ledger.Spec{}, err
	}
	const descriptive = "DESCRIPTIVE (or unset)"
	switch p := s.GetPolicy(); {
	case p != pb.LedgerSpec_POLICY_UNSPECIFIED && p != pb.LedgerSpec_DESCRIPTIVE:
		return ledger.Spec{}, invalid("policy", p.String(), descriptive)
	case s.GetPlan() != nil:
		return ledger.Spec{}, invalid("plan", "given", "no plan: policy "+descriptive)
	case len(s.GetBudgets()) > 0:
		return ledger.Spec{}, invalid("budgets", fmt.Sprintf("%d given", len(s.Budgets)), "no budgets: policy "+descriptive)
	}
	labels, err := toLabels("labels", s.GetLabels())
	if err != nil {
		return ledger.Spec{}, err
	}
	spec := ledger.Spec{
		Name: s.GetName(), Adjacency: adj, PrivacyUnit: s.GetPrivacyUnit(),
		DatasetID: s.GetDatasetId(), DatasetVersion: s.GetDatasetVersion(),
		Owner: s.GetOwner(), Labels: labels, Policy: ledger.Descriptive,
	}
	return spec, checkSpec(spec)
}

// checkSpec checks all but labels.
func checkSpec(s ledger.Spec) error {
	if err := CheckLedgerName("name", s.Name); err != nil {
		return err
	}
	if err := checkText("privacy_unit", s.PrivacyUnit, maxUnit); err != nil {
		return err
	}
	if err := checkText("dataset_id", s.DatasetID, maxText); err != nil {
		return err
	}
	if err := checkText("dataset_version", s.DatasetVersion, maxText); err != nil {
		return err
	}
	return checkText("owner", s.Owner, maxText)
}

// FromSpec is the inverse of ToSpec.
func FromSpec(s ledger.Spec) *pb.LedgerSpec {
	return &pb.LedgerSpec{
		Name: s.Name, Adjacency: FromAdjacency(s.Adjacency), PrivacyUnit: s.PrivacyUnit,
		DatasetId: s.DatasetID, DatasetVersion: s.DatasetVersion,
		Owner: s.Owner, Labels: fromLabels(s.Labels), Policy: pb.LedgerSpec_DESCRIPTIVE,
	}
}

// toLabels sorts labels by key.
func toLabels(field string, m map[string]string) ([]ledger.Label, error) {
	if len(m) == 0 {
		return nil, nil
	}
	if len(m) > maxLabels {
		return nil, invalid(field, fmt.Sprintf("%d labels", len(m)), fmt.Sprintf("at most %d", maxLabels))
	}
	out := make([]ledger.Label, 0, len(m))
	for k, v := range m {
		out = append(out, ledger.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(x, y ledger.Label) int { return strings.Compare(x.Key, y.Key) })
	return out, checkLabels(field, out)
}

// checkLabels checks labels of the domain.
func checkLabels(field string, labels []ledger.Label) error {
	if len(labels) > maxLabels {
		return invalid(field, fmt.Sprintf("%d labels", len(labels)), fmt.Sprintf("at most %d", maxLabels))
	}
	for i, l := range labels {
		switch {
		case !isSegment(l.Key):
			return invalid(field, "key "+show(l.Key), "keys [a-z0-9][a-z0-9._-]{0,62}")
		case i > 0 && labels[i-1].Key >= l.Key:
			return invalid(field, "key "+show(l.Key)+" after "+show(labels[i-1].Key), "distinct keys in order")
		}
		if err := checkText(l.Key, l.Value, maxText); err != nil {
			return under(field, err)
		}
	}
	return nil
}

func fromLabels(labels []ledger.Label) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	m := make(map[string]string, len(labels))
	for _, l := range labels {
		m[l.Key] = l.Value
	}
	return m
}

// FromSummary makes the API's view of a ledger's committed state.
func FromSummary(s ledger.Summary) *pb.Ledger {
	return &pb.Ledger{
		Name: s.Genesis.Spec.Name, Spec: FromSpec(s.Genesis.Spec),
		CreateTime: timestamppb.New(s.Genesis.Time), Principal: s.Genesis.Principal,
		Position: s.Head.Position, HeadHash: s.Head.Hash[:], Closed: s.Closed,
		DistinctMechanisms: uint32(s.Distinct), TotalCount: s.Total, StoreId: s.Genesis.StoreID,
	}
}

// FromReceipt makes the API's view of a receipt.
func FromReceipt(r ledger.Receipt) *pb.Receipt {
	return &pb.Receipt{
		StoreId: r.StoreID, Ledger: r.Ledger, Writer: r.Writer.Name, Sequence: r.Sequence,
		Position: r.Position, HeadHash: r.Head[:], Time: timestamppb.New(r.Time),
	}
}

// FromRecord makes the API's view of a committed entry, with the stored bytes if
// raw is set.
func FromRecord(r ledger.Record, raw bool) *pb.Entry {
	e := &pb.Entry{
		Position: r.Entry.Position, Writer: r.Entry.Writer.Name, Sequence: r.Entry.Sequence,
		Principal: r.Entry.Writer.Principal, Time: timestamppb.New(r.Entry.Time), Hash: r.Hash[:],
	}
	switch v := r.Entry.Verb.(type) {
	case ledger.Charge:
		e.Action = &pb.Entry_Charge{Charge: FromCharge(v)}
	case ledger.Close:
		e.Action = &pb.Entry_Close{Close: &pb.Close{Reason: v.Reason}}
	}
	if raw {
		e.Raw = r.Raw
	}
	return e
}
