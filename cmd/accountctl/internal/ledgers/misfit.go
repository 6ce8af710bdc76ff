// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
)

// maxRemedied is for how many events of a plan it is found what would make the plan fit.
const maxRemedied = 4

// misfit is a plan that costs more than one of its budgets.
type misfit struct {
	spec   *accountantv1.LedgerSpec
	within accountant.Budget
	dashes string // before the name of a parameter: "--" where flags describe the plan
	stop   func() bool
}

// explainMisfit says by how much a plan costs more than its budgets allow, and what would make
// it fit. It returns err as it is where that is not what is wrong, or is not known.
func explainMisfit(p *cli.Program, spec *accountantv1.LedgerSpec, dashes string, stop func() bool, err error) error {
	if spec.GetPolicy() != accountantv1.LedgerSpec_PLAN || cli.ExitStatus(err) != cli.ExitUsage {
		return err
	}
	defer p.Progress("looking for what would fit").End()
	for _, b := range spec.GetBudgets() {
		within, invalid := wire.ToBudget(b)
		if invalid != nil || within.Check() != nil || within.Epsilon == 0 {
			return err
		}
		f := misfit{spec, within, dashes, stop}
		plan, invalid := f.plan(spec.GetPlan().GetEvents())
		if invalid != nil {
			return err
		}
		question := accountant.AtDelta(within.Delta)
		question.Stop = stop
		cost, failed := accountant.Ask(plan, question)
		switch {
		case failed != nil || stop():
			return err
		case !(cost.Epsilon > within.Epsilon):
			continue
		}
		text := fmt.Sprintf("the plan costs ε = %s at δ = %s, which is %s more than --budget %s allows",
			num.FormatUp(cost.Epsilon, spelling.Digits), spelling.Exact(within.Delta),
			num.FormatUp(cost.Epsilon-within.Epsilon, spelling.Digits), spelling.Budget(b))
		if remedies := f.remedies(); len(remedies) > 0 {
			text += "; it would fit with " + strings.Join(remedies, ", or with ")
		}
		return cli.Wrong(text)
	}
	return err
}

// plan is what events cost together. A count of 0 stands for as many as fit: for one, as that
// is too much already.
func (f misfit) plan(events []*accountantv1.Event) (mechanism.Composition, error) {
	w := &accountantv1.Workload{Adjacency: f.spec.GetAdjacency()}
	for _, e := range events {
		e = proto.CloneOf(e)
		e.Count = max(e.GetCount(), 1)
		w.Events = append(w.Events, e)
	}
	_, c, err := wire.ToWorkload(w)
	return c, err
}

// remedies are changes of a single event, each of which alone makes the plan fit.
func (f misfit) remedies() []string {
	events := f.spec.GetPlan().GetEvents()
	var out []string
	for i := range events[:min(len(events), maxRemedied)] {
		of := ""
		if len(events) > 1 {
			of = fmt.Sprintf(" of %s", spelling.Mechanism(events[i].GetMechanism()))
		}
		for _, found := range []string{f.noise(i), f.steps(i), f.count(i)} {
			if found != "" {
				out = append(out, found+of)
			}
		}
	}
	return out
}

// noise is the least noise of one event with which the plan fits, or "".
func (f misfit) noise(i int) string {
	events := f.spec.GetPlan().GetEvents()
	request := &accountantv1.CalibrateRequest{
		Event: proto.CloneOf(events[i]), Solve: accountantv1.CalibrateRequest_STANDARD_DEVIATION,
		Workload: &accountantv1.Workload{Adjacency: f.spec.GetAdjacency(),
			Events: slices.Delete(slices.Clone(events), i, i+1)},
		TargetEpsilon: &f.within.Epsilon, TargetDelta: &f.within.Delta,
	}
	request.Event.Count = max(request.Event.GetCount(), 1)
	answer, err := workloads.Calibrate(request, f.stop)
	if err != nil || f.stop() {
		return ""
	}
	return f.dashes + spelling.Dashed(answer.GetField()) + " " + num.FormatUp(answer.GetValue(), spelling.Digits)
}

// steps is the largest number of epochs or steps of a run of DP-SGD with which the plan fits.
func (f misfit) steps(i int) string {
	sgd := f.spec.GetPlan().GetEvents()[i].GetMechanism().GetDpSgd()
	switch {
	case sgd.GetEpochs() >= 2:
		return f.largest(i, "epochs", uint64(sgd.GetEpochs()), func(e *accountantv1.Event, n uint64) {
			e.GetMechanism().GetDpSgd().Epochs = proto.Float64(float64(n))
		})
	case sgd.GetSteps() >= 2:
		return f.largest(i, "steps", sgd.GetSteps(),
			func(e *accountantv1.Event, n uint64) { e.GetMechanism().GetDpSgd().Steps = &n })
	}
	return ""
}

// count is the largest count of one event with which the plan fits.
func (f misfit) count(i int) string {
	n := f.spec.GetPlan().GetEvents()[i].GetCount()
	if n < 2 {
		return ""
	}
	return f.largest(i, "count", uint64(n), func(e *accountantv1.Event, n uint64) { e.Count = uint32(n) })
}

// largest is the largest number from 1 to below most with which the plan fits after one event
// was changed to have it. More of the same never costs less.
func (f misfit) largest(i int, name string, most uint64, change func(e *accountantv1.Event, n uint64)) string {
	fits := func(n uint64) bool {
		events := slices.Clone(f.spec.GetPlan().GetEvents())
		events[i] = proto.CloneOf(events[i])
		change(events[i], n)
		plan, err := f.plan(events)
		if err != nil {
			return false
		}
		met, err := f.within.Met(plan, f.stop)
		return err == nil && met && !f.stop()
	}
	n := sort.Search(int(most)-1, func(n int) bool { return !fits(uint64(n) + 1) }) // the first that does not
	if n == 0 || f.stop() {
		return ""
	}
	return fmt.Sprintf("%s%s %d", f.dashes, name, n)
}
