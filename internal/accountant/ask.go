package accountant

import (
	"math"
	"strconv"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Ask answers q for c, which must come from mechanism.Compose. It fails with a
// *mechanism.ParameterError where q is not allowed. The empty composition has
// ε = 0 and δ = 0.
func Ask(c mechanism.Composition, q Question) (Answer, error) {
	if err := q.Check(); err != nil {
		return Answer{}, err
	}
	losses, err := loss.Compose(c)
	if err != nil {
		return Answer{}, err
	}
	return least(q, []Result{
		basic(losses, q),
	}), nil
}

// least makes the answer from every analysis's result, in listing order.
func least(q Question, results []Result) Answer {
	a := Answer{Analyses: results}
	best := -1
	for i, r := range results {
		if r.Unsupported == "" && (best < 0 || r.less(results[best], q)) {
			best = i
		}
	}
	winner := Result{Epsilon: math.Inf(1), Delta: 1} // what holds where nothing applies
	if best >= 0 {
		winner = results[best]
	}
	a.Analysis = winner.Analysis
	if q.Delta != nil {
		a.Delta, a.Epsilon = *q.Delta, winner.Epsilon
	} else {
		a.Epsilon, a.Delta, a.LogDelta = *q.Epsilon, winner.Delta, winner.LogDelta
	}
	return a
}

// less reports whether r's bound is below other's.
func (r Result) less(other Result, q Question) bool {
	if q.Delta != nil {
		return r.Epsilon < other.Epsilon
	}
	return r.LogDelta < other.LogDelta
}

func unsupported(a Analysis, reason string) Result {
	return Result{Analysis: a, Unsupported: reason}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
