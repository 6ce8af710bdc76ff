package questions

import (
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// After a restore every answer begins with what it does not count, until somebody has said what that was.
func TestAnswersBeginWithWhatWasLost(t *testing.T) {
	t.Parallel()
	as := func(kinds ...string) (list []ledger.Assumption) {
		for i, kind := range kinds {
			list = append(list, ledger.Assumption{Position: uint64(i + 1), Kind: kind})
		}
		return list
	}
	const open = "Not counted: what was charged after the backup that entry "
	const accepted = "Not counted: charges that a restore"
	for _, c := range []struct {
		list []ledger.Assumption
		want []string
	}{
		{as("refund"), nil},
		{as("restored"), []string{open + "1 "}},
		{as("restored", "reconciled"), nil},
		{as("restored", "loss"), []string{accepted}},
		{as("restored", "loss", "restored", "reconciled"), []string{accepted}},
		{as("restored", "reconciled", "restored"), []string{open + "3 "}},
	} {
		on := Standing{Assumptions: c.list}
		q := accountant.AtDelta(1e-6)
		statement := FromStatement(Statement{View: ledger.View{Balance: ledger.Balance{Assumptions: c.list}}})
		for what, got := range map[string][]string{
			"query":     FromAnswer(q, accountant.Answer{}, on).GetWarnings(),
			"curve":     FromCurve(accountant.Curve{}, on).GetWarnings(),
			"statement": {statement.GetSummary()},
		} {
			for i, want := range c.want {
				if i >= len(got) || !strings.HasPrefix(got[i], want) {
					t.Errorf("%s: %q; want it to begin with %q", what, got, want)
				}
			}
			if c.want == nil && len(got) > 0 && strings.HasPrefix(got[0], "Not counted") {
				t.Errorf("%s: %q; want nothing that was lost", what, got)
			}
		}
	}
}
