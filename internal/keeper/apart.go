package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/keeper/lists"
	"github.com/dpaccountant/accountant/internal/keeper/setlanes"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/ledger/set"
)

// A budget that two ledgers spend pays twice for what was charged in each of them. To somebody who has rows in both
// that release is one of a group of two, which costs more: docs/math/children.md §5.6.1. So no such charge is made to
// ledgers that one budget pays for (apart), and no budget comes to pay for ledgers that have one (charged).

// apart refuses members of a set in each of which a call charges what one budget pays for. All of them are held, so
// none comes under another budget meanwhile.
func (w *wave) apart(c *setCall) error {
	v := c.Action.(ledger.Together)
	if v.Contribution == ledger.OverAll || v.AboutReservation() || len(c.members) < 2 {
		return nil
	}
	refusal := &set.Refusal{}
	family := map[string]string{} // by the names of members and of those above them: the member
	for i, m := range c.members {
		if h := w.held[c.queues[i]]; h.lost != nil {
			continue // the member's own refusal follows
		} else if err := w.k.alone(m.Ledger, h.parent, family); err != nil {
			refusal.Refused = append(refusal.Refused, set.MemberRefusal{Ledger: m.Ledger, Err: err})
		}
	}
	if len(refusal.Refused) == 0 {
		return nil
	}
	refusal.Set = c.names()
	return refusal
}

// bounded refuses a charge of what is on a sample of people to several ledgers of which this one has a budget or a
// plan. To somebody who is known to be drawn, by rows in another ledger, it costs more than it was charged for.
func bounded(spec *ledger.Spec, v ledger.Together) error {
	if v.Contribution != ledger.PeopleDrawnInEach || v.AboutReservation() || len(v.Members) == 1 ||
		spec.Policy == ledger.Descriptive {
		return nil
	}
	return fmt.Errorf("%w: contribution: PEOPLE_DRAWN_IN_EACH, and ledger %s has a budget or a plan, which would not "+
		"hold for somebody with rows in several ledgers, as samples have all of them or none; allowed: over all "+
		"ledgers, rows drawn in each, the mechanism without the sample, or ledgers without a budget", ledger.ErrSet,
		spec.Name)
}

// alone adds a ledger with those above it to a family, unless one of them is in it.
func (k *Keeper) alone(name, parent string, family map[string]string) error {
	chain, datasetID := []string{name}, ""
	for parent != "" {
		chain = append(chain, parent)
		err := k.read(context.Background(), parent, func(s *ledger.State) {
			parent, datasetID = s.Parent(), s.Spec().DatasetID
		})
		if err != nil {
			return err
		}
	}
	top := chain[len(chain)-1]
	if k.heads != nil && len(chain) > 1 && datasetID != "" && !ledger.IsDataset(top) {
		// Another daemon may register the dataset at this moment, which changes only the topmost ledger.
		return fmt.Errorf("%w: contribution: a sensitivity in each ledger, but ledger %s is under %s, whose dataset "+
			"%q is not registered; allowed: to register it first (accountctl dataset create), or over all ledgers",
			ledger.ErrSet, name, top, datasetID)
	}
	for _, at := range chain {
		if other, shared := family[at]; shared {
			return fmt.Errorf("%w: contribution: a sensitivity in each ledger, but %s pays for ledger %s, too; "+
				"allowed: over all ledgers, or a charge to one of the two", ledger.ErrSet, at, other)
		}
	}
	for _, at := range chain {
		family[at] = name
	}
	return nil
}

// charged refuses to put ledgers under one budget of which two were charged in each by one set. The ledgers are all
// that carry the dataset's identifier, and all that its budget pays for already if it is another dataset's.
func (k *Keeper) charged(ctx context.Context, overlap *setlanes.Overlap, spec ledger.Spec, family []string) error {
	payer, names := spec.Dataset.BudgetOf, family
	if payer != "" {
		of, err := lists.OfBudget(ctx, k.config.Store, payer)
		if err != nil {
			return err
		}
		names = slices.Concat(names, of)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := overlap.Read(k.config.Store, name); err != nil {
			return fmt.Errorf("ledger %s: %w", name, err)
		}
	}
	n := len(overlap.Pairs)
	if n == 0 {
		return nil
	}
	var texts []string
	for _, p := range overlap.Pairs[:min(n, maxWrong)] {
		texts = append(texts, fmt.Sprintf("ledgers %s and %s (%s, position %d)", p.Ledgers[0], p.Ledgers[1],
			journals.Name(p.Journal), p.Position))
	}
	if n > maxWrong {
		texts = append(texts, fmt.Sprintf("and %d more", n-maxWrong))
	}
	return fmt.Errorf("%w: dataset %q was not registered and nothing was changed: ledgers that would share its budget "+
		"were charged together with a sensitivity in each: %s; a budget would pay for each ledger alone, and somebody "+
		"with rows in several of them loses more; allowed: to register the data under another identifier with a "+
		"smaller budget, and to name these ledgers in its reason why it is independent (accountctl query NAMES "+
		"--delta D says what they cost together)", ledger.ErrDataset, spec.DatasetID, strings.Join(texts, "; "))
}
