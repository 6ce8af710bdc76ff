// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"math"
	"math/big"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Share is what something takes of the limit of which it takes most.
type Share struct {
	of *big.Int // in shares of 1/accountant.Whole; nil for more than can be told
}

// Share is what parts take.
func (d *Draft) Share(parts []mechanism.Part) Share {
	return shareOf(len(d.Limits), parts, func(m mechanism.Mechanism) *Price { return &d.line(m).Price })
}

// Share is what parts take, or why a limit's guard cannot charge one of them. Prices that it finds are
// remembered.
func (p *Finder) Share(parts []mechanism.Part) (s Share, reason string) {
	s = shareOf(len(p.limits), parts, func(m mechanism.Mechanism) *Price {
		one, known := p.remembered(m)
		if !known {
			one = p.Find(m, nil)
			p.remember(m, one)
		}
		for _, r := range one.reasons {
			reason = cmp.Or(reason, r)
		}
		return &one
	})
	return s, reason
}

func shareOf(limits int, parts []mechanism.Part, cost func(mechanism.Mechanism) *Price) Share {
	most := new(big.Int)
	for i := range limits {
		value, delta := new(big.Int), new(big.Int)
		for _, p := range parts {
			value, delta = cost(p.Mechanism).need(i, p.Count, value, delta)
		}
		if value == nil || delta == nil {
			return Share{}
		}
		for _, n := range []*big.Int{value, delta} {
			if n.Cmp(most) > 0 {
				most = n
			}
		}
	}
	return Share{most}
}

// Over reports whether a share is more than a cap, which is read as a decimal.
func (s Share) Over(cap float64) bool {
	if s.of == nil {
		return true
	}
	most := new(big.Rat).Mul(num.Decimal(cap), new(big.Rat).SetInt(new(big.Int).SetUint64(accountant.Whole)))
	return new(big.Rat).SetInt(s.of).Cmp(most) > 0
}

// String is the share in percent, rounded up.
func (s Share) String() string {
	if s.of == nil {
		return "more than all"
	}
	return num.FormatReadUp(100*s.Number(), 4) + " %"
}

// Number is the share rounded up.
func (s Share) Number() float64 {
	if s.of == nil {
		return math.Inf(1)
	}
	return accountant.Part(1, s.of, true)
}
