// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

func TestDigestTellsActionsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := wiretest.FewActions().Draw(t, "a"), wiretest.FewActions().Draw(t, "b")
		equal := reflect.DeepEqual(a, b)
		if same := bytes.Equal(wire.AppendAsked(nil, a), wire.AppendAsked(nil, b)); same != equal {
			t.Fatalf("%v, %v: equal %v, encodings equal %v", a, b, equal, same)
		}
		if same := Digest(a) == Digest(b); same != equal {
			t.Fatalf("%v, %v: equal %v, digests equal %v", a, b, equal, same)
		}
	})
}

// everyNumberCounts changes each number of field i of base, a struct of numbers.
func everyNumberCounts(t *testing.T, action func(reflect.Value) ledger.Charge, base reflect.Value, i int) {
	t.Helper()
	for j := range base.Field(i).NumField() {
		changed := reflect.New(base.Type()).Elem()
		changed.Set(base)
		number := changed.Field(i).Field(j)
		if number.Kind() == reflect.Float64 {
			number.SetFloat(math.Nextafter(number.Float(), 10))
		} else {
			number.SetUint(number.Uint() + 1)
		}
		if Digest(action(base)) == Digest(action(changed)) {
			t.Errorf("%v.%s is not in the digest", base.Type(), base.Field(i).Type().Field(j).Name)
		}
	}
}

// TestDigestCoversEveryParameter changes each parameter by the least step.
func TestDigestCoversEveryParameter(t *testing.T) {
	action := func(m reflect.Value) ledger.Charge {
		return ledger.Charge{Events: []mechanism.Event{{Mechanism: m.Interface().(mechanism.Mechanism), Count: 1}}}
	}
	for _, m := range wiretest.EveryMechanism {
		base := reflect.New(reflect.TypeOf(m)).Elem()
		base.Set(reflect.ValueOf(m))
		for i := range base.NumField() {
			changed := reflect.New(base.Type()).Elem()
			changed.Set(base)
			switch f := changed.Field(i); f.Kind() {
			case reflect.Float64:
				f.SetFloat(math.Nextafter(f.Float(), 10))
			case reflect.Uint64, reflect.Uint8:
				f.SetUint(f.Uint() + 1)
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.Struct: // a list, or mechanism.Participation
				other := mechanism.Mechanism(mechanism.Gaussian{NoiseMultiplier: 9})
				switch f.Type() {
				case reflect.TypeFor[mechanism.List[mechanism.Mechanism]]():
					f.Set(reflect.ValueOf(mechanism.ListOf(other)))
				case reflect.TypeFor[mechanism.List[mechanism.Event]]():
					f.Set(reflect.ValueOf(mechanism.ListOf(mechanism.Event{Mechanism: other, Count: 1})))
				default:
					everyNumberCounts(t, action, base, i)
					continue
				}
			case reflect.Interface:
				f.Set(reflect.ValueOf(mechanism.Gaussian{NoiseMultiplier: 9}))
			case reflect.String: // mechanism.Numbers
				if f.Len() == 0 {
					f.SetString(string(mechanism.NumbersOf(1)))
				} else {
					f.SetString(f.String()[:f.Len()-1] + "\x01")
				}
			default:
				t.Fatalf("%T.%s: a kind of parameter this test does not know", m, base.Type().Field(i).Name)
			}
			if Digest(action(base)) == Digest(action(changed)) {
				t.Errorf("%T.%s is not in the digest", m, base.Type().Field(i).Name)
			}
		}
	}
}

func TestDigestIgnoresTheOrderOfLabels(t *testing.T) {
	a, b := ledger.Label{Key: "a", Value: "1"}, ledger.Label{Key: "b", Value: "2"}
	x := ledger.Charge{Events: wiretest.StepCharge.Events, Labels: []ledger.Label{a, b}}
	y := ledger.Charge{Events: wiretest.StepCharge.Events, Labels: []ledger.Label{b, a}}
	if Digest(x) != Digest(y) || y.Labels[0] != b {
		t.Error("digests differ, or the labels were moved")
	}
}

func TestDigestOfLargeCharges(t *testing.T) {
	events := slices.Repeat(wiretest.StepCharge.Events, wire.MaxChargeEvents)
	a := Digest(ledger.Charge{Events: events})
	events[len(events)-1].Count++
	if Digest(ledger.Charge{Events: events}) == a {
		t.Error("the last event is not in the digest")
	}
}

func TestDigestPanicsWithoutEncoding(t *testing.T) {
	for name, action := range map[string]ledger.Action{
		"no action":    nil,
		"no mechanism": ledger.Charge{Events: []mechanism.Event{{Count: 1}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: got a digest", name)
				}
			}()
			Digest(action)
		}()
	}
}

func BenchmarkDigest(b *testing.B) {
	var action ledger.Action = wiretest.StepCharge
	b.ReportAllocs()
	for b.Loop() {
		Digest(action)
	}
}
