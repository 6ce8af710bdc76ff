// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Shared is the kind of the assumptions that say that charges were made to a ledger and to others at once: what is
// said of the ledger alone is not what somebody loses who has rows in several of them. docs/math/children.md §5.6.1.
const Shared = "together"

// made is how each of their texts begins, and alone is what all but the last go on with.
const (
	made  = "from here on this ledger has charges that were made to several ledgers at once "
	alone = "What is said of this ledger is for somebody with rows in this one alone"
	ask   = ": accountctl query NAME,NAME"
)

// shares are the texts, by contribution.
var shares = [...]string{
	InEach: made + "with a sensitivity in each of them (in-each). " + alone + ". Whoever has rows in n of them " +
		"counts as a group of n and loses more" + ask,
	RowsDrawnInEach: made + "on samples of rows, with a sensitivity in each of them (rows-drawn-in-each). " + alone +
		". Whoever has rows in n of them may have n rows in a sample and loses more" + ask,
	PeopleDrawnInEach: made + "on samples of people, with a sensitivity in each of them (people-drawn-in-each). " +
		alone + ", and proves nothing for whoever has rows in others of them" + ask,
	OverAll: made + "with a sensitivity over all of them (over-all). Each counts whole in each of them, so what is " +
		"said of them does not add up: for somebody with rows in several, accountctl query NAME,NAME counts each " +
		"such charge once, and what one of them has alone, too",
}

// InEach reports whether a says that charges have a sensitivity in each of several ledgers.
func (a Assumption) InEach() bool { return a.Kind == Shared && a.Text != shares[OverAll] }

// firstPart reports whether an entry with this part is the ledger's first of a set of several ledgers with its
// contribution.
func (a amendments) firstPart(p *SetPart) bool {
	return p != nil && p.Members > 1 && p.Contribution.Valid() && !a.together[p.Contribution]
}

// shared returns a with e, the first part with its contribution.
func (a amendments) shared(e Entry) amendments {
	a.together[e.Set.Contribution] = true
	return a.assuming(Assumption{Position: e.Position, Kind: Shared, Text: shares[e.Set.Contribution]})
}

// sharing is a dataset's view with what its ledger l says of charges to several ledgers. The dataset's budget has
// counted each charge over all of its ledgers in each of them, and no two of its ledgers are charged in each together.
// So the view says, once for all its ledgers, that such charges were made with ledgers of other data.
func (v View) sharing(l View, of Assumption) View {
	in := slices.ContainsFunc(v.Assumptions, func(a Assumption) bool { return a.Kind == Shared })
	if in || !of.InEach() {
		return v
	}
	of.Text = "ledger " + l.Genesis.Spec.Name + ": from here on this ledger, and perhaps others of the dataset, " +
		"has charges that were made to ledgers of other data, too, with a sensitivity in each. What is said of the " +
		"dataset is for somebody with rows in this dataset alone. Whoever has rows in the others loses more" + ask
	v.Assumptions = append(v.Assumptions, of)
	return v
}
