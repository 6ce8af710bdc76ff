// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"regexp"
	"strings"
	"sync"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// BudgetNumbers are a budget's, by key.
func BudgetNumbers(b *accountantv1.Budget) map[string]**float64 {
	return map[string]**float64{"epsilon": &b.Epsilon, "delta": &b.Delta, "rho": &b.Rho, "mu": &b.Mu, "order": &b.Order}
}

// BudgetKeys are the keys of --budget, in the order in which they are written.
var BudgetKeys = []string{"epsilon", "delta", "rho", "mu", "guard", "order"}

// Guard is a guard as --budget takes it.
func Guard(g accountantv1.Budget_Guard) string { return strings.ToLower(Dashed(g.String())) }

// Budget is a budget as --budget takes it.
func Budget(b *accountantv1.Budget) string {
	var parts []string
	numbers := BudgetNumbers(b)
	for _, key := range BudgetKeys {
		switch {
		case key == "guard" && b.GetGuard() != 0:
			parts = append(parts, "guard="+Guard(b.GetGuard()))
		case numbers[key] != nil && *numbers[key] != nil:
			parts = append(parts, key+"="+Exact(**numbers[key]))
		}
	}
	return strings.Join(parts, ",")
}

// guardWords spell how a guard counts. The daemon's texts name guards as the API does.
var guardWords = strings.NewReplacer(" by BASIC", ", by basic composition",
	" by ZCDP", ", by zero-concentrated differential privacy",
	" by APPROXIMATE_ZCDP", ", by approximate zero-concentrated differential privacy",
	" by GDP", ", by Gaussian differential privacy", " by RDP", ", by Rényi divergences")

// theBudget is how the API numbers a budget in front of what it allows.
var theBudget = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bbudgets\[\d+\] \(`) })

// Refusal is the daemon's text of a refusal with budgets as people know them: by what they allow, which the text
// says, and not by their number.
func Refusal(text string) string { return theBudget().ReplaceAllString(text, "the budget (") }

// Counted spells in words how a budget is counted, in a text of the daemon such as "ε = 8 at δ = 1e-05 by RDP".
func Counted(budget string) string { return guardWords.Replace(budget) }
