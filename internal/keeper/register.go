// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/keeper/lookup"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/share"
)

// Registration is a dataset to be registered.
type Registration struct {
	Genesis     ledger.Genesis // its Spec is the dataset's record; a zero Time is set from the clock
	Independent bool           // as of ledger.Adopt
	Reason      string

	// Confirm proposes to confirm the registration, which is made in the same write; nil where one person
	// registers the dataset. Its Spec's ToConfirm is set then.
	Confirm *ledger.Propose
	Writer  ledger.Writer // of that proposal
}

// Register registers a dataset, and adopts the root ledgers that carry its identifier: all
// of them, or it changes nothing and the error names each that cannot be adopted. With an
// equal spec it returns the dataset that is there, and false.
//
// Every step is one write. Charges to the ledgers that are adopted wait meanwhile, and so
// do the creations of root ledgers.
func (k *Keeper) Register(ctx context.Context, r Registration) (sum ledger.Summary, created bool, adopted []string,
	err error) {
	g := &r.Genesis
	dataset := *g.Spec.Dataset
	g.Spec.Dataset = &dataset // what follows from the datasets it comes from is written here, not into the caller's
	g.StoreID = k.storeID
	sum, created, err = k.unlessThere(ctx, g, func() (bool, error) {
		fresh := ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: *g}})
		prices, err := k.priceAdopted(ctx, g, fresh)
		if err != nil {
			return false, err
		}
		overlap := &lookup.Overlap{}
		k.registering.Lock()
		defer k.registering.Unlock()
		err = fleet.Until(func() (err error) {
			if err = lookup.Join(ctx, k.config.Store, k.View, &g.Spec); err == nil {
				adopted, err = k.adopt(ctx, r, fresh, prices, overlap)
			}
			return err
		})
		return err == nil, err
	})
	return sum, created, adopted, err
}

// adopt makes the dataset with the shares of the ledgers that are there. The ledgers below them are held, too.
func (k *Keeper) adopt(ctx context.Context, r Registration, fresh *ledger.State, prices *budget.Prices,
	overlap *lookup.Overlap) (names []string, err error) {
	spec := r.Genesis.Spec
	names, below, err := lookup.Family(ctx, k.config.Store, spec.Name)
	if err != nil {
		return nil, err
	}
	lost, err := k.fleet.LostWhole(spec.Name)
	if err != nil {
		return nil, err
	}
	family := slices.Concat(names, below)
	holding, of := family, spec.Dataset.BudgetOf
	if of != "" {
		holding = append(holding, of)
	}
	return names, k.together(ctx, holding, func(all []*member) (bool, error) {
		if err := k.charged(ctx, overlap, spec, family); err != nil {
			return false, err
		}
		own := ledger.NewBatch(fresh)
		a := adoption{giver: giver{k: k, batch: own, view: fresh.View(), prices: prices}}
		if of == "" {
			own.Bound()
		} else {
			if a.giver, err = all[len(all)-1].gives(ctx, prices, ""); err != nil {
				return false, err
			}
			if err := a.version(spec.DatasetID, spec.DatasetVersion, spec.Dataset.DerivedFrom); err != nil {
				return false, err
			}
		}
		if err := a.takeAll(ctx, r, all[:len(names)]); err != nil {
			return false, err
		}
		if lost != (ledger.Head{}) {
			v := ledger.LostEntries(fresh, lost, time.Unix(0, 0).UTC())
			if _, err := k.decideOwn(own, fmt.Sprintf("request/lost-%x", lost.Hash), v); err != nil {
				return false, err
			}
		}
		created := ledger.Proposal{Ledger: spec.Name}
		if len(own.Entries()) > 0 {
			created = own.Proposal()
		}
		created.Genesis = &r.Genesis
		return true, k.commit(all, created)
	})
}

// adoption collects what is decided in the record of the dataset that adopts.
type adoption struct {
	giver
	charged bool
	wrong   []string // why ledgers cannot be adopted
}

// own decides an action in the dataset's record.
func (a *adoption) own(lane string, v ledger.Action) error {
	_, err := a.k.decideOwn(a.batch, lane, v)
	return err
}

// version adds a version that shares the budget, unless it is there.
func (a *adoption) version(id, name string, from []ledger.DatasetReference) error {
	of := ledger.DatasetReference{ID: id, Version: name}
	if a.view.Dataset.Has(of) == nil {
		return nil
	}
	v := ledger.DatasetVersion{Of: of, DerivedFrom: from}
	err := a.own("request/version-"+token(id+"\x00"+name), ledger.AmendDataset{AddVersion: &v, Reason: "registered"})
	if err == nil {
		a.view.Dataset = a.batch.Dataset()
	}
	return err
}

// takeAll takes the shares of all ledgers of a registration, and notes in the record what was done.
func (a *adoption) takeAll(ctx context.Context, r Registration, all []*member) error {
	for _, h := range all {
		if err := a.take(ctx, h); err != nil {
			a.wrong = append(a.wrong, fmt.Sprintf("ledger %s: %v", h.q.name, err))
		}
	}
	n := len(all)
	if err := a.refusal(r.Genesis.Spec.DatasetID, n); err != nil {
		return err
	}
	if n > 0 {
		v := ledger.Adopt{Ledgers: uint32(n), Charged: a.charged, Independent: r.Independent, Reason: r.Reason}
		if err := a.own(fmt.Sprintf("request/adopted-%s", token(r.Genesis.Spec.Name)), v); err != nil {
			return err
		}
	}
	if v := r.Confirm; v != nil {
		_, err := a.k.decideAs(a.batch, ledger.Request{Writer: r.Writer, Action: *v, Policy: r.Genesis.Policy})
		return err
	}
	return nil
}

// take takes a ledger's share, and marks the ledger where it is open.
func (a *adoption) take(ctx context.Context, h *member) error {
	child, err := h.view(ctx)
	if err != nil {
		return err
	}
	s := child.Genesis.Spec
	if err := a.version(s.DatasetID, s.DatasetVersion, nil); err != nil {
		return err
	}
	if err := a.give(share.Adopted(child), allocation(s.Name)); err != nil {
		return err
	}
	a.charged = a.charged || child.Total > 0 || len(child.Reservations) > 0 || len(child.Assumptions) > 0
	if child.Closed {
		return nil
	}
	_, err = a.k.decideOwn(h.batch, "request/adopt", ledger.Adopt{Dataset: a.view.Genesis.Spec.Name})
	return err
}

// maxWrong bounds the ledgers that a refusal names.
const maxWrong = 8

// refusal is the error of a registration with ledgers that cannot be adopted.
func (a *adoption) refusal(id string, n int) error {
	if len(a.wrong) == 0 {
		return nil
	}
	texts, more := a.wrong, ""
	if len(texts) > maxWrong {
		more = fmt.Sprintf("; and %d more", len(texts)-maxWrong)
		texts = texts[:maxWrong]
	}
	return fmt.Errorf("%w: dataset %q was not registered and nothing was changed: %d of the %d ledgers that carry its "+
		"identifier cannot come under its budget: %s%s", ledger.ErrDataset, id, len(a.wrong), n,
		strings.Join(texts, "; "), more)
}

// charged refuses to put ledgers under one budget of which two were charged in each by one set. The ledgers are all
// that carry the dataset's identifier, and all that its budget pays for already if it is another dataset's.
func (k *Keeper) charged(ctx context.Context, overlap *lookup.Overlap, spec ledger.Spec, family []string) error {
	payer, names := spec.Dataset.BudgetOf, family
	if payer != "" {
		of, err := lookup.OfBudget(ctx, k.config.Store, payer)
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
	var texts []string
	for _, name := range names {
		if len(names) == 1 {
			break
		}
		lost := false
		if err := k.read(ctx, name, func(s *ledger.State) { lost = s.LostInEach() }); err != nil {
			return fmt.Errorf("ledger %s: %w", name, err)
		}
		if lost && len(texts) < maxWrong {
			texts = append(texts, fmt.Sprintf("ledger %s, with others that are not known since it has lost entries",
				name))
		}
	}
	n := len(overlap.Pairs)
	if n+len(texts) == 0 {
		return nil
	}
	for _, p := range overlap.Pairs[:min(n, maxWrong)] {
		texts = append(texts, fmt.Sprintf("ledgers %s and %s (%s, position %d)", p.Ledgers[0], p.Ledgers[1],
			ledger.JournalName(p.Journal), p.Position))
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
