package loss

import (
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// compoundKinds are made of others.
func compoundKinds() []Kind {
	return []Kind{
		Or(KindOf(ofGroup), groupTerms),
		Or(NoLoss[mechanism.Parallel](), parallelTerms),
	}
}

var kinds = NewKinds(declaredKinds(), noiseKinds(), selectionKinds(), samplingKinds(), compoundKinds())

// Of returns the loss of one application of m under adj. m must have passed
// Check(adj). A mechanism that is several releases has several losses (TermsOf):
// Of has none.
func Of(m mechanism.Mechanism, adj mechanism.Adjacency) (Loss, error) { return OfWithin(m, adj, nil) }

// OfWithin is Of for a loss that in interrupts, wherever it is computed.
func OfWithin(m mechanism.Mechanism, adj mechanism.Adjacency, in *num.Interrupt) (Loss, error) {
	return kinds.Under(adj, in).Loss(m)
}

// TermsOf returns the losses of one application of m under adj: of a mechanism that
// is several releases those of all of them, of every other one the loss that Of
// returns. m must have passed Check(adj).
func TermsOf(m mechanism.Mechanism, adj mechanism.Adjacency) ([]Term, error) {
	return kinds.Under(adj, nil).Terms(m)
}

// Compose takes the losses of c's mechanisms and merges equal ones. c must
// come from mechanism.Compose.
func Compose(c mechanism.Composition) (Composition, error) { return ComposeWithin(c, nil) }

// ComposeWithin is Compose for losses that in interrupts, wherever they are computed; it
// is interrupted too. Losses of one Interrupt are not for concurrent use.
func ComposeWithin(c mechanism.Composition, in *num.Interrupt) (Composition, error) {
	return kinds.Under(c.Adjacency, in).Compose(c.Parts...)
}
