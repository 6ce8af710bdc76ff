// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// together charges ledgers together, or reserves in them.
func (s *datasetServer) together(c pb.SetPart_Contribution, reserve bool, names ...string) error {
	set, charge, writer := &pb.LedgerSet{Ledgers: names}, charged(1), servertest.Writer()
	if reserve {
		_, err := s.Client.Reserve(servertest.Context(s.t), &pb.ReserveRequest{Lane: &pb.Lane{Ledgers: set,
			Sequence: 1, Writer: writer, Contribution: c},
			Reserve: &pb.Reserve{Events: charge.GetEvents(), LifetimeSeconds: 3600}})
		return err
	}
	_, err := s.Client.Report(servertest.Context(s.t), &pb.ReportRequest{Lane: &pb.Lane{Ledgers: set, Sequence: 1,
		Writer: writer, Contribution: c},
		Charge: charge})
	return err
}

// A budget that pays for ledgers one by one is too small for what was charged in each of them, however the ledgers
// come under it.
func TestAdoptionOfWhatWasChargedInEach(t *testing.T) {
	t.Parallel()
	const each, all = pb.SetPart_IN_EACH, pb.SetPart_OVER_ALL
	below := func(parent, name string) *pb.LedgerSpec {
		spec := of("survey", "1", servertest.Filter(name, servertest.Basic(0.3)))
		spec.Parent = parent
		return spec
	}
	root := func(id, name string) *pb.LedgerSpec {
		return of(id, "1", servertest.Filter(name, servertest.Basic(0.9)))
	}
	for name, c := range map[string]struct {
		contribution pb.SetPart_Contribution
		names        []string
		reserve      bool
		refused      []string // nil: it is registered
	}{
		"charged in each":       {each, []string{"a", "b", "other"}, false, []string{"a and b"}},
		"reserved in each":      {each, []string{"a", "b"}, true, []string{"a and b"}},
		"rows are drawn":        {pb.SetPart_ROWS_DRAWN_IN_EACH, []string{"a", "b"}, false, []string{"a and b"}},
		"over all":              {all, []string{"a", "b"}, false, nil},
		"one ledger of it":      {each, []string{"a", "other"}, false, nil},
		"one ledger alone":      {each, []string{"a"}, false, nil},
		"below two of them":     {each, []string{"a/c", "b/c"}, false, []string{"a/c and b/c"}},
		"below, and another":    {each, []string{"a/c", "b"}, false, []string{"b and a/c"}},
		"one that was closed":   {each, []string{"b", "shut"}, false, []string{"b and shut"}},
		"below, and not of it":  {each, []string{"a/c", "other"}, false, nil},
		"reserved, over all":    {all, []string{"a/c", "b"}, true, nil},
		"reserved below it":     {each, []string{"a/c", "b/c"}, true, []string{"a/c and b/c"}},
		"of the old and of new": {each, []string{"a", "old"}, false, []string{"a and old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withDatasets(t, server.Config{})
			spec := survey(servertest.Basic(50))
			if strings.HasPrefix(name, "of the old") {
				first := survey(servertest.Basic(50))
				first.Id = "first"
				s.mustRegister(first)
				s.Create(root("first", "old"))
				spec.Budgets, spec.DerivedFrom = nil, []*pb.DatasetReference{{Id: "first", Version: "1"}}
			}
			for _, l := range []*pb.LedgerSpec{root("survey", "a"), root("survey", "b"), root("survey", "shut"),
				root("elsewhere", "other"), below("a", "a/c"), below("b", "b/c")} {
				s.Create(l)
			}
			if err := s.together(c.contribution, c.reserve, c.names...); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Client.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
				Lane: &pb.Lane{Ledger: "shut", Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
			}); err != nil {
				t.Fatal(err)
			}
			_, err := s.register(spec)
			switch {
			case c.refused != nil:
				wantError(t, err, codes.FailedPrecondition, append(c.refused, "in each", "another identifier",
					"nothing was changed")...)
				if s.Position("a") > 2 { // a set, and a child's share
					t.Error("something was written")
				}
			case err != nil:
				t.Error(err)
			default: // and from now on one budget pays for both
				err = s.together(each, false, "a/c", "b")
				wantError(t, err, codes.FailedPrecondition, "dataset:survey pays for ledger")
			}
		})
	}
}

// Of a registration and a charge in each of its ledgers that come at the same time at most one is made.
func TestAdoptionRacesWithSets(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{})
	for round := range 20 {
		id := fmt.Sprintf("survey-%d", round)
		names := make([]string, 2)
		for i := range names {
			root := of(id, "1", servertest.Filter(fmt.Sprintf("%s/%d", id, i), servertest.Basic(0.9)))
			s.Create(root)
			child := of(id, "1", servertest.Filter(root.GetName()+"/c", servertest.Basic(0.3)))
			child.Parent = root.GetName()
			s.Create(child)
			names[i] = child.GetName()
		}
		spec := survey(servertest.Basic(50))
		spec.Id, spec.Independence = id, "nobody is in two"
		var both sync.WaitGroup
		var registered, charged error
		both.Go(func() { _, registered = s.register(spec) })
		both.Go(func() { charged = s.together(pb.SetPart_IN_EACH, false, names...) })
		both.Wait()
		if (registered == nil) == (charged == nil) {
			t.Errorf("round %d: the registration: %v; the charge: %v", round, registered, charged)
		}
	}
}
