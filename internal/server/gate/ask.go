// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Methods returns the names of all methods.
func Methods() (list []string) {
	for m := range api.Methods() {
		list = append(list, string(m.Name()))
	}
	slices.Sort(list)
	return list
}

// Method returns the spelling of a method in the API, for one that may be in small letters.
func Method(text string) (string, bool) {
	i := slices.IndexFunc(Methods(), func(m string) bool { return strings.EqualFold(m, text) })
	if i < 0 {
		return "", false
	}
	return Methods()[i], true
}

// Question is a call about which Ask is asked.
type Question struct {
	Method  string // of the API
	Ledger  string // the ledger or the dataset that the call would be about; "" for none
	Parent  string // of a ledger that would be created
	Dataset string // of a ledger that would be created
}

// request makes a request of the method that says what the question says, and nothing else.
func (q Question) request() any {
	m := api.NewRequest(api.Method(q.Method)).ProtoReflect()
	for path, text := range map[string]string{"ledger": q.Ledger, "name": q.Ledger, "open.ledger": q.Ledger,
		"lane.ledger": q.Ledger,
		"spec.name":   q.Ledger, "spec.parent": q.Parent, "spec.dataset_id": q.Dataset,
		"id": strings.TrimPrefix(q.Ledger, ledger.DatasetsPrefix)} {
		if text != "" {
			set(m, strings.Split(path, "."), text)
		}
	}
	return m.Interface()
}

// set sets the field at a path, if the message has it.
func set(m protoreflect.Message, path []string, text string) {
	fd := m.Descriptor().Fields().ByName(protoreflect.Name(path[0]))
	switch {
	case fd == nil:
	case fd.Kind() == protoreflect.StringKind && !fd.IsList():
		m.Set(fd, protoreflect.ValueOfString(text))
	case len(path) > 1 && fd.Message() != nil && !fd.IsList():
		set(m.Mutable(fd).Message(), path[1:], text)
	}
}

// partly says of methods of which only some requests need two people which ones those are.
var partly = map[string]string{
	"AmendDataset": "budgets and caps need two people: Propose, and another person's Approve",
	"CreateDataset": "a dataset with a budget of its own needs two people: it is registered as a proposal " +
		"(accountctl dataset create --propose), and needs another person's Approve",
}

// Ask says whether a caller may make a call, and why. It is decided as Enter decides about the call itself.
func (g *Gate) Ask(who Identity, q Question) (allowed bool, why string) {
	r, _ := ruleOf(api.Method(q.Method))
	p := &Passage{gate: g, who: who, method: q.Method, rule: r, subject: r.about(q.request())}
	v := p.verdict()
	policy := v.policy
	var missing *missingRight
	switch {
	case errors.As(v.err, &missing):
		return false, missing.about()
	case errors.Is(v.err, ErrTwoPeople) && len(v.by) > 0:
		return false, fmt.Sprintf("%v; the role is there by %s", v.err, reasons(v.by))
	case v.err != nil:
		return false, v.err.Error()
	case r.people == pb.Access_ONE_OF_TWO && !who.Proven():
		return false, fmt.Sprintf("nothing proves that somebody is %s; allowed: a caller who proves to be somebody, "+
			"over a Unix socket, with a client certificate or with a token", who.Principal)
	case len(v.by) > 0:
		why = reasons(v.by)
	case p.owns(policy):
		why = "the daemon's owner may, on the daemon's own socket"
	case policy == nil:
		why = "there is no access policy: everybody may do what does not need the daemon's own socket"
	default:
		why = "everybody may ask about themselves"
	}
	if part := partly[q.Method]; policy != nil && policy.ApproveWithin > 0 && part != "" {
		why += "; " + part
	}
	return true, why
}

// reasons names grants, each once.
func reasons(by []*access.Grant) string {
	var list []string
	for _, grant := range by {
		if text := grant.String(); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}

// Explain is Ask of a policy, without a daemon. The parents of the question's ledger, from the
// nearest on, and its dataset are what it is part of, or would be if the method creates it.
func Explain(policy *access.Policy, c access.Caller, q Question, parents []string) (allowed bool, why string) {
	chain := append([]string{q.Ledger}, parents...)
	if len(parents) > 0 {
		q.Parent = parents[0]
	}
	id := strings.TrimPrefix(q.Ledger, ledger.DatasetsPrefix)
	g := &Gate{lineages: map[string]lineage{}, config: Config{Spec: func(name string) (ledger.Spec, error) {
		i := slices.Index(chain, name)
		switch {
		case name == ledger.DatasetName(id):
			return ledger.Spec{Name: name, DatasetID: id}, nil
		case i < 0:
			return ledger.Spec{}, ledger.ErrNotFound
		case i+1 < len(chain):
			return ledger.Spec{Name: name, DatasetID: q.Dataset, Parent: chain[i+1]}, nil
		}
		return ledger.Spec{Name: name, DatasetID: q.Dataset}, nil
	}}}
	g.policy.Store(policy)
	return g.Ask(Identity{Caller: c}, q)
}

// Grants returns the grants of the policy to a caller.
func (g *Gate) Grants(c access.Caller) (list []string) {
	if policy := g.policy.Load(); policy != nil {
		for _, grant := range policy.Of(c) {
			list = append(list, grant.String())
		}
	}
	return list
}
