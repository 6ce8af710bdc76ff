// SPDX-License-Identifier: Apache-2.0

// Package mechanism holds the descriptors of differentially private mechanisms
// as comparable values: what was run, in the parameters its user reported.
//
// A descriptor is a fact, never a privacy loss. Two descriptors are the same
// mechanism exactly when they are ==, so they serve as map keys; parameters
// that were not given are zero, which no parameter may be. What a descriptor
// costs is the business of package loss and the analyses above it.
package mechanism

import "fmt"

// Mechanism is one of the descriptor types of this package. Its dynamic type
// is always comparable.
type Mechanism interface {
	// Kind is the mechanism's name in the API, in snake case: "gaussian".
	Kind() string

	// Check returns nil if every parameter is in its range, all that are
	// required are given and the mechanism is defined under adj; otherwise a
	// *ParameterError or *AdjacencyError that names the field, the value and
	// what is allowed.
	Check(adj Adjacency) error

	// String is a short description for people: "gaussian(σ=1.1, Δ=1)".
	String() string

	// number is that of the kind's alternative in the message accountant.v1.Mechanism. It is never
	// changed, and never used again for another kind.
	number() int

	// places is where the mechanism may stand inside another one.
	places() place
}

// Event is a mechanism applied Count times. Count is at least 1.
type Event struct {
	Mechanism Mechanism
	Count     uint32
}

// ParameterError says which field of a descriptor is wrong, what it was and
// what is allowed there.
type ParameterError struct {
	Field   string // path in the API's spelling, such as "gaussian.sensitivity"
	Value   string // as given; "missing" where nothing was
	Allowed string
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("%s: %s; allowed: %s", e.Field, e.Value, e.Allowed)
}

// AdjacencyError says that a mechanism has no meaning under an adjacency, why,
// and what to report instead.
type AdjacencyError struct {
	Kind      string
	Adjacency Adjacency
	Reason    string
	Hint      string
}

func (e *AdjacencyError) Error() string {
	return fmt.Sprintf("%s: not defined for adjacency %s: %s; allowed: %s", e.Kind, e.Adjacency, e.Reason, e.Hint)
}
