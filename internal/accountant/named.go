// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Analyses are the names of all analyses, in listing order.
func Analyses() []Analysis { return []Analysis{GDP, PLD, RDP, ZCDP, Basic} }

// AskBy is Ask with the analysis a alone. Where that does not apply the answer is
// what holds of everything, ε = ∞ or δ = 1, without a winner; its only result has
// the reason.
func AskBy(c mechanism.Composition, q Question, a Analysis) (Answer, error) {
	losses, err := q.losses(c)
	if err != nil {
		return Answer{}, err
	}
	ask, ok := map[Analysis]func() bound{
		GDP:   func() bound { return q.gdp(losses) },
		PLD:   func() bound { return q.pld(losses) },
		RDP:   func() bound { return q.rdp(losses) },
		ZCDP:  func() bound { return q.zcdp(losses) },
		Basic: func() bound { return q.basic(losses) },
	}[a]
	if !ok {
		var names []string
		for _, name := range Analyses() {
			names = append(names, string(name))
		}
		return Answer{}, &mechanism.ParameterError{Field: "analysis", Value: fmt.Sprintf("%q", a),
			Allowed: strings.Join(names, ", ")}
	}
	return q.least([]bound{q.inTime(a, ask)}), nil
}
