// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"reflect"
	"strings"
)

// Which mechanisms may stand inside which others is what each kind says of itself: by places,
// which every kind has, and where that is not all by the other methods below. A test goes over
// all kinds and lists where they may stand.

// place is a set of places inside other mechanisms.
type place uint

const nowhere place = 0

// The order of these is that of the test over all kinds.
const (
	inGroup           place = 1 << iota // the mechanism of a Group
	inSampledGroup                      // the mechanism of a PoissonSampled that is in a Group
	asMixture                           // as inSampledGroup, each number of members in the batch a part of a mixture
	onPoissonSample                     // the mechanism of a PoissonSampled
	inSampledList                       // an event of a Composed that is in a PoissonSampled
	onFixedSizeSample                   // the mechanism of a FixedSizeSampled
	onTruncatedSample                   // the mechanism of a TruncatedPoissonSampled
	onShuffledBatch                     // the mechanism of a Shuffled
	onAllocatedBatch                    // the mechanism of a RandomAllocation
	onReport                            // the mechanism of a ShuffledReports
)

func (p place) has(one place) bool { return p&one != 0 }

// hosts are the kinds that run one mechanism inside, and the place there. Others than these take
// what their Check says.
var hosts = map[string]place{
	Group{}.Kind():                   inGroup,
	PoissonSampled{}.Kind():          onPoissonSample,
	FixedSizeSampled{}.Kind():        onFixedSizeSample,
	TruncatedPoissonSampled{}.Kind(): onTruncatedSample,
	Shuffled{}.Kind():                onShuffledBatch,
	RandomAllocation{}.Kind():        onAllocatedBatch,
	ShuffledReports{}.Kind():         onReport,
}

// Inside names the kinds that may stand inside this one, at least with some parameters: "gaussian
// or laplace". It is empty for a kind that runs no single mechanism, or any.
func (k *Kind) Inside() string {
	where, ok := hosts[k.Name]
	if !ok {
		return ""
	}
	return kindsAt(where)
}

// mostAllowed bounds the names in an error, whose length is bounded by what a log can hold.
const mostAllowed = 215

// allowedAt is kindsAt for an error, which says where to look if there are too many names.
func allowedAt(where place) string {
	if names := kindsAt(where); len(names) <= mostAllowed {
		return names
	}
	return "one of the mechanisms that docs/mechanisms.md names for it"
}

// kindsAt names the kinds that may stand in a place, at least with some parameters: those that
// may, or if these are many those that may not.
func kindsAt(where place) string {
	var may, not []string
	for _, k := range Kinds() {
		if reflect.Zero(k.descriptor).Interface().(Mechanism).places().has(where) {
			may = append(may, k.Name)
		} else {
			not = append(not, k.Name)
		}
	}
	names := enumerated(may, "or")
	if other := "every mechanism but " + enumerated(not, "and"); len(other) < len(names) {
		return other
	}
	return names
}

// enumerated joins names as a sentence does: "a, b or c".
func enumerated(names []string, last string) string {
	n := len(names) - 1
	if n < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
}

type (
	// refusing is a kind that says why it may not stand in a place, and what to report instead. The
	// error's field is "" for the kind itself, or a parameter such as "zero_concentrated_dp.delta".
	// nil stands for the usual answer.
	refusing interface {
		refusal(where place) *ParameterError
	}

	// distanced is noise that can be given by a distance between neighbours, which has no meaning
	// inside sampling; instead names the parameters that take its place there.
	distanced interface {
		byDistance() (distance float64, instead string)
	}

	// sampledUnder is a kind that may be run on a Poisson sample under some adjacencies, or with
	// some parameters, only. It has passed Check under adj.
	sampledUnder interface{ checkSampledUnder(adj Adjacency) error }

	// groupSized is a kind of which a group can be too large; the error's field is "size". It may
	// not have passed Check.
	groupSized interface{ checkGroupSize(size uint64) error }

	// groupReaching is noise with which the outputs of a group of size records are size·one apart,
	// which must be below end. It has passed Check.
	groupReaching interface {
		groupReach(adj Adjacency) (one, end float64)
	}
)

// checkPlace returns nil if m may stand at where, the field of another mechanism; otherwise an
// error that says what is allowed there. what says what is missing where there is none.
func checkPlace(field string, m Mechanism, where place, what string) error {
	if m == nil {
		return &ParameterError{field, "missing", what + ": " + allowedAt(where)}
	}
	if m.places().has(where) {
		return nil
	}
	if r, ok := m.(refusing); ok {
		if err := r.refusal(where); err != nil {
			if err.Field != "" {
				field += "."
			}
			err.Field = field + err.Field
			return err
		}
	}
	return &ParameterError{field, m.Kind(), allowedAt(where)}
}

const noDistance = ": a distance between neighbours has no meaning inside sampling"

// checkNoDistance refuses noise that is given by a distance between neighbours.
func checkNoDistance(field string, m Mechanism) error {
	if d, ok := m.(distanced); ok {
		if distance, instead := d.byDistance(); distance != 0 {
			return &ParameterError{field + "." + m.Kind() + ".distance", number(distance), instead + noDistance}
		}
	}
	return nil
}

// checkWithin checks the mechanism that another one runs in the field.
func checkWithin(field string, m Mechanism, adj Adjacency) error {
	err := m.Check(adj)
	if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
		pe.Field = field + "." + pe.Field
	}
	return err
}

// checkWithOrWithout refuses REPLACE_ONE for m on a Poisson sample, where the pair of a replaced
// record is not known.
func checkWithOrWithout(m Mechanism, adj Adjacency) error {
	if adj != ReplaceOne {
		return nil
	}
	return &AdjacencyError{"poisson_sampled", adj,
		"of a " + m.Kind() + " on a sample only the pair with and without a record is known",
		"gaussian or laplace in it, it unsampled, or a ledger under ADD_OR_REMOVE_ONE or ZERO_OUT"}
}

// checkAddOrRemove refuses every adjacency but ADD_OR_REMOVE_ONE for a guarantee on a Poisson
// sample: elsewhere it says nothing of a batch without the record.
func checkAddOrRemove(m Mechanism, adj Adjacency) error {
	if adj == AddOrRemoveOne {
		return nil
	}
	return &AdjacencyError{"poisson_sampled", adj,
		"a " + m.Kind() + " guarantee between batches of one size says nothing of the batch without the record, so " +
			"sampling does not lower its ε",
		"the guarantee unsampled, gaussian or laplace in it, or a ledger under ADD_OR_REMOVE_ONE"}
}

// branching is a list of mechanisms, or runs one as often as it likes: the limits on how many
// mechanisms a descriptor holds, and how deep lists are nested, count what is inside.
type branching interface {
	branches() (list []Mechanism, nested bool)
}

// leaves is how many mechanisms there are within m.
func leaves(m Mechanism) int {
	b, ok := m.(branching)
	if !ok {
		return 1
	}
	n := 0
	list, _ := b.branches()
	for _, one := range list {
		n += leaves(one)
	}
	return n
}

// depth is how many lists there are within each other.
func depth(m Mechanism) int {
	b, ok := m.(branching)
	if !ok {
		return 0
	}
	list, nested := b.branches()
	if !nested {
		return 0
	}
	most := 0
	for _, one := range list {
		most = max(most, depth(one))
	}
	return 1 + most
}

// expanding is a kind that is several releases of other mechanisms.
type expanding interface{ expand() []Part }

// Expand lists what one application of m consists of: of a Composed its events'
// mechanisms, of a DPSGD its steps, of every other mechanism itself once. m must
// have passed Check. See docs/math/cumulant.md §1.1.6.
func Expand(m Mechanism) []Part {
	if e, ok := m.(expanding); ok {
		return e.expand()
	}
	return []Part{{Mechanism: m, Count: 1}}
}

// uneven is a kind that fails in one direction more often than in the other; it names what does,
// or nothing.
type uneven interface{ failsUnevenly() string }

// unevenly names the kind of m if it fails in one direction more often than in the other.
func unevenly(m Mechanism) string {
	if u, ok := m.(uneven); ok {
		return u.failsUnevenly()
	}
	return ""
}

// failsUnevenly names the first such kind of what m consists of.
func failsUnevenly(m Mechanism) string {
	for _, p := range Expand(m) {
		if kind := unevenly(p.Mechanism); kind != "" {
			return kind
		}
	}
	return ""
}
