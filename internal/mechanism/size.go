// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"reflect"

	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// Size estimates how many bytes the descriptor takes in the store and in an answer. It is
// rather too large than too small.
func Size(m Mechanism) int {
	k, n := KindOf(m), sizeOfNumbers
	if k == nil || !k.variable {
		return n
	}
	d := reflect.ValueOf(m)
	for i := range k.Parameters {
		if p := &k.Parameters[i]; p.Type == reflect.TypeFor[Numbers]() {
			n += p.Of(d).Len()
		}
	}
	for _, inside := range Inside(m) {
		n += Size(inside)
	}
	return n
}

// sizeOfNumbers is more than the parameters of any kind take that are single numbers.
const sizeOfNumbers = 64

// Inside lists the mechanisms that m runs: those of its parameters, but not those inside them.
func Inside(m Mechanism) []Mechanism {
	k := KindOf(m)
	if k == nil || !k.variable {
		return nil
	}
	var list []Mechanism
	for _, p := range k.Parameters {
		if p.Role != table.RoleInside {
			continue
		}
		switch v := p.Of(reflect.ValueOf(m)).Interface().(type) {
		case Mechanism:
			list = append(list, v)
		case List[Mechanism]:
			list = append(list, v.Values()...)
		case List[Event]:
			for _, e := range v.Values() {
				list = append(list, e.Mechanism)
			}
		}
	}
	return list
}
