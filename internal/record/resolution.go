// SPDX-License-Identifier: Apache-2.0

package record

import (
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

var (
	resolutionForm = wire.FormOf[ledger.Resolution, *pb.Resolution]()
	partForm       = wire.FormOf[mechanism.Part, *pb.Part]()
)

// checkResolution checks that a resolution is one of the spec's policy, and that its plan is valid under the
// spec's adjacency.
func checkResolution(s ledger.Spec, r ledger.Resolution) error {
	budgets := s.Budgets
	if s.Policy != ledger.Filtered {
		budgets = nil
	}
	if err := r.CheckOf(budgets, s.Policy == ledger.Planned); err != nil {
		return wire.FromDomain(err)
	}
	for i, p := range r.Plan {
		if err := (mechanism.Event{Mechanism: p.Mechanism, Count: 1}).Check(s.Adjacency); err != nil {
			return wire.InEvent("resolution.plan", i, err)
		}
	}
	return nil
}
