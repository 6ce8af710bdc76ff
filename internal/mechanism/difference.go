package mechanism

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode"
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
func Differences(a, b Mechanism) []Difference {
	if a == b {
		return nil
	}
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return []Difference{{Field: "mechanism", A: kindOf(a), B: kindOf(b)}}
	}
	return structs(reflect.ValueOf(a), reflect.ValueOf(b))
}

func kindOf(m Mechanism) string {
	if m == nil {
		return notGiven
	}
	return m.Kind()
}

const notGiven = "not given"

// structs compares two values of one struct type, field by field.
func structs(a, b reflect.Value) (list []Difference) {
	for i := range a.NumField() {
		field, x, y := a.Type().Field(i), a.Field(i), b.Field(i)
		if !field.IsExported() || x.Equal(y) {
			continue
		}
		if field.Type == reflect.TypeFor[Mechanism]() {
			m, _ := x.Interface().(Mechanism)
			n, _ := y.Interface().(Mechanism)
			list = append(list, Differences(m, n)...)
			continue
		}
		if field.Type.Kind() == reflect.Struct && field.Type.Field(0).IsExported() { // parameters that several kinds share
			list = append(list, structs(x, y)...)
			continue
		}
		d := Difference{Field: snake(field.Name)}
		switch x.Kind() {
		case reflect.Struct, reflect.Interface, reflect.String: // lists: their values would fill the line
		case reflect.Float64, reflect.Uint64:
			d.far = far(x, y)
			fallthrough
		default:
			d.A, d.B = valueText(x), valueText(y)
		}
		list = append(list, d)
	}
	return list
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

// snake spells a field's name as the API does: NoiseMultiplier is noise_multiplier.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Nearest is the index of the mechanism in list that differs from m least, and in what: in
// the fewest parameters, and of those with as many by the least factor. It is −1 for an
// empty list.
func Nearest(m Mechanism, list []Part) (at int, differences []Difference) {
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
