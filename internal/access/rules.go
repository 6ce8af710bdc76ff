// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Rules hold for a store, whichever daemon serves it. The zero value has no rules.
type Rules struct {
	RequireDataset bool          // new ledgers need a registered dataset or a parent that pays for them
	RequireStandby bool          // a database that waits for no standby takes no charge
	FairCalls      float64       // calls, and charges in streams, of one principal a second; 0: no limit
	FairComputing  time.Duration // for which one principal's questions are computed a minute; 0: no limit
}

// With returns the rules under which both r and o hold.
func (r Rules) With(o Rules) Rules {
	r.RequireDataset = r.RequireDataset || o.RequireDataset
	r.RequireStandby = r.RequireStandby || o.RequireStandby
	r.FairCalls = stricter(r.FairCalls, o.FairCalls)
	r.FairComputing = stricter(r.FairComputing, o.FairComputing)
	return r
}

// String lists the rules as a policy spells them; "none" if there are none.
func (r Rules) String() string {
	var list []string
	add := func(has bool, field string, value any) {
		if has {
			list = append(list, fmt.Sprintf("%s: %v", field, value))
		}
	}
	add(r.RequireDataset, "require_dataset", true)
	add(r.RequireStandby, "require_standby", true)
	add(r.FairCalls != 0, "fair_calls", r.FairCalls)
	add(r.FairComputing != 0, "fair_computing", r.FairComputing)
	return cmp.Or(strings.Join(list, ", "), "none")
}

// stricter is the smaller limit of two, of which 0 is none.
func stricter[T float64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// RuleError says which rule has a value that is not allowed. Field is as a policy spells it.
type RuleError struct{ Field, Value, Allowed string }

func (e *RuleError) Error() string {
	return fmt.Sprintf("store.%s: %s; allowed: %s", e.Field, e.Value, e.Allowed)
}

const callsAllowed, computingAllowed = "0, or a number from 1 to 1e9", "0, or a duration from 1s to 24h, such as 20s"

// Check returns a *RuleError if a limit is out of its range.
func (r Rules) Check() error {
	if calls := r.FairCalls; calls != 0 && !(calls >= 1 && calls <= 1e9) {
		return &RuleError{"fair_calls", fmt.Sprint(calls), callsAllowed}
	}
	if d := r.FairComputing; d != 0 && (d < time.Second || d > 24*time.Hour) {
		return &RuleError{"fair_computing", d.String(), computingAllowed}
	}
	return nil
}

// readStore reads the rules of the store.
func (p *Policy) readStore(n *yaml.Node) error {
	err := fields(n, map[string]func(*yaml.Node) error{
		"require_dataset": as(&p.Rules.RequireDataset, strconv.ParseBool, "true or false"),
		"require_standby": as(&p.Rules.RequireStandby, strconv.ParseBool, "true or false"),
		"fair_calls": as(&p.Rules.FairCalls, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
			callsAllowed),
		"fair_computing": as(&p.Rules.FairComputing, time.ParseDuration, computingAllowed),
	})
	if err != nil {
		return err
	}
	if err := p.Rules.Check(); err != nil {
		return wrong(n, "%v", err)
	}
	return nil
}

// as reads a value by parse.
func as[T any](to *T, parse func(string) (T, error), allowed string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		text, err := scalar(n)
		if err != nil {
			return err
		}
		if *to, err = parse(text); err != nil {
			return wrong(n, "%q; allowed: %s", text, allowed)
		}
		return nil
	}
}
