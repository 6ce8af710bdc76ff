// SPDX-License-Identifier: Apache-2.0

package questions

import (
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/wire"
)

// SetQuery is what a QueryPrivacySetRequest asks.
type SetQuery struct {
	Members  wire.Members
	Question accountant.Question
}

// ToSetQuestion converts a query about several ledgers.
func ToSetQuestion(r *pb.QueryPrivacySetRequest) (q SetQuery, err error) {
	if q.Members, err = wire.ToMembers("set", r.GetSet()); err != nil {
		return SetQuery{}, err
	}
	switch g := r.GetGiven().(type) {
	case *pb.QueryPrivacySetRequest_Delta:
		q.Question = accountant.AtDelta(g.Delta)
	case *pb.QueryPrivacySetRequest_Epsilon:
		q.Question = accountant.AtEpsilon(g.Epsilon)
	}
	q.Question, err = withGap(q.Question, r.MaxGap)
	return q, err
}

// SetAnswer is what several ledgers cost.
type SetAnswer struct {
	Ledgers []LedgerAnswer // in the order of their names
	All     Answered       // for a record that is in all of them
	One     *Answered      // for a record that is in at most one; nil if nothing is proven for it
	NotOne  string         // why One is nil
}

// LedgerAnswer is what one ledger costs alone.
type LedgerAnswer struct {
	Name string
	Left *float64 // see ledger.Balance.Left; nil where nothing bounds the ledger
	Answered
}

// Answered is an answer with what it rests on.
type Answered struct {
	Answer accountant.Answer
	On     Standing
	Why    string // of one about several ledgers: why it proves nothing, otherwise ""
}

// FromSetAnswer makes the API's view of the answers to q.
func FromSetAnswer(q accountant.Question, a SetAnswer) *pb.QueryPrivacySetResponse {
	r := &pb.QueryPrivacySetResponse{InAll: FromAnswer(q, a.All.Answer, a.All.On), NotInOne: a.NotOne,
		NotInAll: a.All.Why}
	if a.One != nil {
		r.InOne = FromAnswer(q, a.One.Answer, a.One.On)
	}
	for _, l := range a.Ledgers {
		r.Ledgers = append(r.Ledgers, &pb.LedgerPrivacy{Ledger: l.Name, Privacy: FromAnswer(q, l.Answer, l.On),
			Left: l.Left})
	}
	return r
}
