// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

const (
	// overviewSize and maxOverviewSize are the usual and the largest size of a page of the overview.
	overviewSize, maxOverviewSize = 50, 200
	maxContains                   = 256
)

// Flags are what may have happened to a ledger, in the order in which they are shown.
var Flags = []string{"refunded", "freed", "raised", "restored", "unreconciled", "loss accepted", "adopted", "reserved",
	"proposed"}

// states are those in which a ledger may be.
var states = []string{"open", "closed", "needs reconciling"}

// Page is a part of a list of ledgers that a question asks for, by name.
type Page struct {
	Prefix, After string
	Hidden        string // a place that may be further than After, as it was given to TokenAt
	Limit         int

	kind, key string // which list it is, and what stands for all that it was asked for
}

// asksForPage is a request for a page of a list.
type asksForPage interface {
	proto.Message
	GetPageToken() string
	GetPageSize() uint32
}

// toPage finds which part of a list a request asks for, of which a page has a usual and a largest size.
func toPage(kind string, r asksForPage, usual, most int) (p Page, err error) {
	p.kind = kind
	if p.Limit, err = toSize(r.GetPageSize(), usual, most); err != nil {
		return p, err
	}
	asked := proto.Clone(r).ProtoReflect()
	for _, field := range []protoreflect.Name{"page_token", "page_size"} {
		asked.Clear(asked.Descriptor().Fields().ByName(field))
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(asked.Interface())
	if err != nil {
		return p, wire.Invalid("request", err.Error(), "valid UTF-8")
	}
	p.key = fmt.Sprintf("%x", sha256.Sum256(b))
	if r.GetPageToken() != "" {
		p.After, p.Hidden, err = fromNameToken(r.GetPageToken(), kind, p.key)
	}
	return p, err
}

// Overview is the part of the overview that a request asks for.
type Overview struct {
	Page

	Contains string // in small letters
	State    string
	Flags    []string
	MinShare float64
	Delta    *float64
}

// ToOverview converts a request for a page.
func ToOverview(r *pb.QueryOverviewRequest) (p Overview, err error) {
	p = Overview{Contains: strings.ToLower(r.GetContains()), State: r.GetState(), Flags: r.GetFlags(),
		MinShare: r.GetMinShare(), Delta: r.Delta}
	switch {
	case len(r.GetContains()) > maxContains:
		return p, wire.Invalid("contains", wire.Quote(r.GetContains()), fmt.Sprintf("at most %d bytes", maxContains))
	case p.State != "" && !slices.Contains(states, p.State):
		return p, wire.Invalid("state", wire.Quote(p.State), oneOf(states)+", or empty for any")
	case !(p.MinShare >= 0 && p.MinShare <= 1):
		return p, wire.Invalid("min_share", fmt.Sprint(p.MinShare), "a number from 0 to 1")
	case p.Delta != nil && !(*p.Delta > 0 && *p.Delta < 1):
		return p, wire.Invalid("delta", fmt.Sprint(*p.Delta), "a number in (0, 1), or none for each ledger's own")
	}
	for i, f := range p.Flags {
		if !slices.Contains(Flags, f) {
			return p, wire.Invalid(fmt.Sprintf("flags[%d]", i), wire.Quote(f), oneOf(Flags))
		}
	}
	if err := checkPrefix(r.GetPrefix()); err != nil {
		return p, err
	}
	p.Page, err = toPage("overview", r, overviewSize, maxOverviewSize)
	p.Prefix = r.GetPrefix()
	return p, err
}

// ToAnywhere converts a request for a page of the ledgers that a group has spent of. The group is not looked at.
func ToAnywhere(r *pb.QuerySpendingAnywhereRequest) (p Page, err error) {
	if err := wire.CheckPrefix("prefix", r.GetPrefix()); err != nil {
		return p, err
	}
	p, err = toPage("spending", r, overviewSize, maxOverviewSize)
	p.Prefix = r.GetPrefix()
	return p, err
}

// List names the list, for whoever hides places in it.
func (p Page) List() string { return p.kind + " " + p.key }

// TokenAt is the token for what comes after the ledger last, which may be "", or after a place that is hidden, as
// Places do, unless that is "".
func (p Page) TokenAt(last, hidden string) string {
	if hidden != "" {
		last += "\x00" + hidden
	}
	return toToken(p.kind, p.key, last)
}

// StateOf is the state in which a ledger is, one of States.
func StateOf(s ledger.Summary) string {
	switch {
	case s.Closed:
		return states[1]
	case s.Unreconciled:
		return states[2]
	}
	return states[0]
}

// MayHave reports whether a ledger can be listed, as far as its summary tells.
func (p Overview) MayHave(s ledger.Summary) bool {
	if p.State != "" && StateOf(s) != p.State {
		return false
	}
	if p.Contains == "" {
		return true
	}
	spec := s.Genesis.Spec
	texts := []string{spec.Name, spec.Owner, spec.DatasetID}
	if spec.Dataset != nil {
		texts = append(texts, spec.Dataset.Owners...)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), p.Contains)
	})
}

// Has reports whether a row is listed whose ledger may be.
func (p Overview) Has(r *pb.OverviewRow) bool {
	for _, f := range p.Flags {
		if !slices.Contains(r.GetFlags(), f) {
			return false
		}
	}
	return p.MinShare == 0 || r.Share != nil && r.GetShare() >= p.MinShare
}

func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "one of " + strings.Join(quoted, ", ")
}
