// SPDX-License-Identifier: Apache-2.0

package access

import (
	"testing"
	"time"
)

// Of two sets of rules the stricter one of each holds.
func TestRulesTogether(t *testing.T) {
	t.Parallel()
	p := parse(t, "version: 1\nstore:\n  require_dataset: true\n  require_standby: false\n  fair_calls: 200\n"+
		"  fair_computing: 20s\n")
	if want := (Rules{RequireDataset: true, FairCalls: 200, FairComputing: 20 * time.Second}); p.Rules != want {
		t.Errorf("read %+v; want %+v", p.Rules, want)
	}
	own := Rules{RequireStandby: true, FairCalls: 100, FairComputing: time.Minute}
	want := Rules{RequireDataset: true, RequireStandby: true, FairCalls: 100, FairComputing: 20 * time.Second}
	if a, b := p.Rules.With(own), own.With(p.Rules); a != want || b != want {
		t.Errorf("together %+v and %+v; want %+v", a, b, want)
	}
	if p.Rules.With(Rules{}) != p.Rules || (Rules{}).With(Rules{}) != (Rules{}) {
		t.Error("no rules change rules")
	}
}
