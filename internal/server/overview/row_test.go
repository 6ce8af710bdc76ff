// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/sessions"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// One row that takes too long costs a page neither the rows before it nor, if it stops when it is told to, those
// after it; a row without all of its time is not kept; and a row that fails otherwise ends the page.
func TestNumbersOfAPage(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		b        func(q accountant.Question, end chan struct{}) (accountant.Answer, error) // about ledger b
		problems string                                                                    // rows that have one
		kept     string
		err      error
	}{
		"all in time": {b: answered, kept: "abc"},
		"stops": {b: func(q accountant.Question, _ chan struct{}) (accountant.Answer, error) {
			for !q.Stop() {
				time.Sleep(time.Millisecond)
			}
			return accountant.Answer{}, accountant.ErrStopped
		}, problems: "b", kept: "ac"},
		"stops with a loose answer": {b: func(accountant.Question, chan struct{}) (accountant.Answer, error) {
			return accountant.Answer{Epsilon: 9, Stopped: true}, nil
		}, kept: "ac"},
		"does not stop": {b: func(_ accountant.Question, end chan struct{}) (accountant.Answer, error) {
			<-end
			return accountant.Answer{Epsilon: 1}, nil
		}, problems: "bc", kept: "a"},
		"fails": {b: func(accountant.Question, chan struct{}) (accountant.Answer, error) {
			return accountant.Answer{}, errBroken
		}, err: errBroken},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}), nil)
			h := New(Config{InTime: in, Spent: sessions.New(nil, in)})
			end := make(chan struct{})
			h.Spent.Answer = func(_ *accountant.Session, of mechanism.Composition,
				q accountant.Question) (accountant.Answer, error) {
				if of.Parts[0].Count == 2 {
					return c.b(q, end)
				}
				return answered(q, end)
			}
			var page []*row
			for i, name := range names {
				v := ledger.View{Guarantee: ledger.GuaranteeDescriptive, Charged: mechanism.Composition{
					Parts: []mechanism.Part{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: uint64(i + 1)}}}}
				v.Genesis.Spec.Name, v.Head.Position = name, uint64(i+1)
				sub, err := subject.Of(v)
				if err != nil {
					t.Fatal(err)
				}
				page = append(page, &row{key: rowKey{name: name}, head: v.Head, subject: &sub,
					row: &pb.OverviewRow{Name: name, Delta: 1e-6}})
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := h.numbers(ctx, page); !errors.Is(err, c.err) {
				t.Errorf("%s: %v; want %v", name, err, c.err)
			}
			close(end)
			synctest.Wait()
			var kept, problems strings.Builder
			for _, r := range page {
				if h.rows.Contains(r.key) {
					kept.WriteString(r.key.name)
				}
				if r.row.GetProblem() != "" {
					problems.WriteString(r.key.name)
				}
				if has := r.row.Epsilon != nil && r.row.GetGuaranteeText() != ""; c.err == nil &&
					has == (r.row.GetProblem() != "") {
					t.Errorf("%s: %v", name, r.row)
				}
			}
			if c.err == nil && (kept.String() != c.kept || problems.String() != c.problems) || in.Admitted() > 0 {
				t.Errorf("%s: kept %q, problems with %q, %d admitted", name, &kept, &problems, in.Admitted())
			}
		})
	}
}

func answered(accountant.Question, chan struct{}) (accountant.Answer, error) {
	return accountant.Answer{Epsilon: 1}, nil
}
