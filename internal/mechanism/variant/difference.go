// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"cmp"
	"fmt"
	"math"
	"reflect"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// Difference is a parameter in which two mechanisms differ.
type Difference struct {
	Field string // in the API's spelling, such as "noise_multiplier"; "mechanism" where their kinds differ
	A, B  string // its values; "not given" where there is none, "" for both where they are lists

	far float64 // |ln(a/b)| of numbers: how far apart they are
}

func (d Difference) String() string {
	if d.A == "" && d.B == "" {
		return d.Field
	}
	return fmt.Sprintf("%s: %s instead of %s", d.Field, d.A, d.B)
}

// Differences lists in which parameters a and b differ: none exactly if they are equal. Of
// sampled and other nested mechanisms it compares the inner ones.
func Differences(a, b mechanism.Mechanism) []Difference {
	if a == b {
		return nil
	}
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return []Difference{{Field: "mechanism", A: kindOf(a), B: kindOf(b)}}
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	var list []Difference
	for _, p := range mechanism.KindOf(a).Parameters {
		if x, y := p.Of(x), p.Of(y); !x.Equal(y) {
			list = append(list, differencesOf(p, x, y)...)
		}
	}
	return list
}

func kindOf(m mechanism.Mechanism) string {
	if m == nil {
		return notGiven
	}
	return m.Kind()
}

const notGiven = "not given"

// differencesOf lists in what two values of a parameter differ.
func differencesOf(p table.Parameter, x, y reflect.Value) []Difference {
	if p.Type == reflect.TypeFor[mechanism.Mechanism]() {
		m, _ := x.Interface().(mechanism.Mechanism)
		n, _ := y.Interface().(mechanism.Mechanism)
		return Differences(m, n)
	}
	d := Difference{Field: p.Name}
	if p.Most == 0 { // the values of a list would fill the line
		d.A, d.B = valueText(x), valueText(y)
	}
	if p.Type.Kind() == reflect.Float64 || p.Type.Kind() == reflect.Uint64 {
		d.far = far(x, y)
	}
	return []Difference{d}
}

// valueText is a parameter's value, which is zero where it was not given.
func valueText(v reflect.Value) string {
	if v.IsZero() {
		return notGiven
	}
	return fmt.Sprint(v.Interface())
}

// far is |ln(x/y)|, 0 where one of them is not a positive number.
func far(x, y reflect.Value) float64 {
	number := func(v reflect.Value) float64 {
		if v.CanFloat() {
			return v.Float()
		}
		return float64(v.Uint())
	}
	if d := math.Abs(math.Log(number(x) / number(y))); d <= math.MaxFloat64 {
		return d
	}
	return 0
}

// Nearest is the index of the mechanism in list that differs from m least, and in what: in
// the fewest parameters, and of those with as many by the least factor. It is −1 for an
// empty list.
func Nearest(m mechanism.Mechanism, list []mechanism.Part) (at int, differences []Difference) {
	at = -1
	for i, p := range list {
		d := Differences(m, p.Mechanism)
		if at < 0 || compareDifferences(d, differences) < 0 {
			at, differences = i, d
		}
	}
	return at, differences
}

func compareDifferences(a, b []Difference) int {
	weight := func(list []Difference) (fields int, far float64) {
		for _, d := range list {
			fields++
			if d.Field == "mechanism" { // more than any kind has parameters
				fields += 100
			}
			far += d.far
		}
		return fields, far
	}
	m, x := weight(a)
	n, y := weight(b)
	return cmp.Or(cmp.Compare(m, n), cmp.Compare(x, y))
}
