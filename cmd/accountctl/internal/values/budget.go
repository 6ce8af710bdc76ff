// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// BudgetHelp describes the value of --budget.
const BudgetHelp = `A budget is KEY=VALUE,KEY=VALUE,… with
  epsilon, delta    ε in nats, δ in (0, 1)
  rho, mu           instead: of zero-concentrated DP, of Gaussian DP
  guard             what enforces it: ` + guardNames + `
  order             the Rényi order of the guard rdp, > 1
such as epsilon=8,delta=1e-6. Together with --plan a budget has no guard: the plan must
keep within it.`

const guardNames = "basic, zcdp, approximate-zcdp, gdp or rdp"

// parseBudget parses one budget. Ranges are for the daemon to check.
func parseBudget(s string) (*accountantv1.Budget, error) {
	b := &accountantv1.Budget{}
	numbers := spelling.BudgetNumbers(b)
	for _, part := range strings.Split(s, ",") {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || !slices.Contains(spelling.BudgetKeys, key) {
			allowed := "allowed: KEY=VALUE with the keys " + strings.Join(spelling.BudgetKeys, ", ")
			if part != s {
				allowed = fmt.Sprintf("%q; %s", part, allowed)
			}
			return nil, errors.New(allowed)
		}
		if key == "guard" {
			guard, ok := accountantv1.Budget_Guard_value[strings.ToUpper(strings.ReplaceAll(value, "-", "_"))]
			if !ok || guard == 0 {
				return nil, fmt.Errorf("guard=%q; allowed: %s", value, guardNames)
			}
			if b.Guard != 0 {
				return nil, fmt.Errorf("guard is given twice")
			}
			b.Guard = accountantv1.Budget_Guard(guard)
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("%s=%q; allowed: a number", key, value)
		}
		if *numbers[key] != nil {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		*numbers[key] = &number
	}
	return b, nil
}

// completeBudget offers the keys that are not given yet, and the guards.
func completeBudget(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	before, last := "", typed
	if i := strings.LastIndex(typed, ","); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	var out []string
	if strings.HasPrefix(last, "guard=") {
		for i := 1; i < len(accountantv1.Budget_Guard_name); i++ {
			out = append(out, before+"guard="+spelling.Guard(accountantv1.Budget_Guard(i)))
		}
		return out, directive
	}
	for _, key := range spelling.BudgetKeys {
		if !strings.Contains(","+before, ","+key+"=") {
			out = append(out, before+key+"=")
		}
	}
	return out, directive
}
