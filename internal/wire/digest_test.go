package wire

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The digests of fixed actions are in testdata/records.txt, within the entries.

// fewActions draws from so few values that equal ones come often, and with texts
// whose boundaries could be confused.
func fewActions() *rapid.Generator[ledger.Action] {
	text := rapid.SampledFrom([]string{"", "a", "aa", "\x00", "a\x00"})
	return rapid.Custom(func(t *rapid.T) ledger.Action {
		reservation := rapid.Uint64Range(1, 2).Draw(t, "reservation")
		action := rapid.IntRange(0, 15).Draw(t, "action")
		switch action {
		case 0, 1:
			return ledger.Close{Reason: text.Draw(t, "reason")}
		case 2, 3:
			return ledger.Release{Reservation: reservation, Reason: text.Draw(t, "reason")}
		case 4:
			return ledger.Expire{Reservation: reservation}
		case 13:
			return ledger.Restored{From: text.Draw(t, "from"), StoreID: text.Draw(t, "to"), Copy: ledger.Hash{byte(reservation)}, Newest: time.Unix(0, rapid.Int64Range(0, 1).Draw(t, "newest"))}
		case 14, 15:
			v := ledger.Reconcile{AcceptLoss: rapid.Bool().Draw(t, "accept"), Reason: text.Draw(t, "reason")}
			if rapid.Bool().Draw(t, "with events") {
				v.Events = stepCharge.Events
			}
			return v
		case 5:
			return ledger.Free{Reservation: reservation, Reason: text.Draw(t, "reason")}
		case 9:
			return ledger.Refund{Position: reservation, Reason: text.Draw(t, "reason")}
		case 10, 11:
			v := ledger.Raise{Independent: rapid.Bool().Draw(t, "independent"), Reason: text.Draw(t, "reason"), Plan: ledger.Workload{Name: text.Draw(t, "name")}}
			v.Budgets = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) accountant.Budget {
				n := rapid.SampledFrom([]float64{0, 0, 1, 2})
				return accountant.Budget{Guard: accountant.Guard(rapid.IntRange(0, 1).Draw(t, "guard")), Epsilon: n.Draw(t, "ε"), Delta: n.Draw(t, "δ"),
					Rho: n.Draw(t, "ρ"), Mu: n.Draw(t, "μ"), Order: n.Draw(t, "α")}
			}), 0, 2).Draw(t, "budgets")
			v.Plan.Events = rapid.SliceOfN(rapid.Just(stepCharge.Events[0]), 0, 2).Draw(t, "plan")
			return v
		}
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mechanism.Event {
			return mechanism.Event{Mechanism: rapid.SampledFrom(everyMechanism).Draw(t, "mechanism"), Count: rapid.Uint32Range(1, 2).Draw(t, "count")}
		}), 1, 2).Draw(t, "events")
		labels := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ledger.Label {
			return ledger.Label{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")}
		}), 0, 2, func(l ledger.Label) string { return l.Key }).Draw(t, "labels")
		slices.SortFunc(labels, func(x, y ledger.Label) int { return bytes.Compare([]byte(x.Key), []byte(y.Key)) })
		switch action {
		case 12:
			return ledger.Reserve{Events: events, Labels: labels, Child: rapid.SampledFrom([]string{"a", "aa"}).Draw(t, "child")}
		case 5:
			return ledger.Reserve{Events: events, Labels: labels, Lifetime: time.Duration(reservation) * time.Second}
		case 6:
			return ledger.Commit{Events: events, Labels: labels, Reservation: reservation}
		}
		return ledger.Charge{Events: events, Labels: labels}
	})
}

func TestDigestTellsActionsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := fewActions().Draw(t, "a"), fewActions().Draw(t, "b")
		equal := reflect.DeepEqual(a, b)
		if same := bytes.Equal(appendAction(nil, a), appendAction(nil, b)); same != equal {
			t.Fatalf("%v, %v: equal %v, encodings equal %v", a, b, equal, same)
		}
		if same := Digest(a) == Digest(b); same != equal {
			t.Fatalf("%v, %v: equal %v, digests equal %v", a, b, equal, same)
		}
	})
}

// everyNumberCounts changes each number of field i of base, a struct of whole numbers.
func everyNumberCounts(t *testing.T, action func(reflect.Value) ledger.Charge, base reflect.Value, i int) {
	t.Helper()
	for j := range base.Field(i).NumField() {
		changed := reflect.New(base.Type()).Elem()
		changed.Set(base)
		number := changed.Field(i).Field(j)
		number.SetUint(number.Uint() + 1)
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
	for _, m := range everyMechanism {
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
				f.SetString(f.String()[:f.Len()-1] + "\x01")
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
	x := ledger.Charge{Events: stepCharge.Events, Labels: []ledger.Label{a, b}}
	y := ledger.Charge{Events: stepCharge.Events, Labels: []ledger.Label{b, a}}
	if Digest(x) != Digest(y) || y.Labels[0] != b {
		t.Error("digests differ, or the labels were moved")
	}
}

func TestDigestOfLargeCharges(t *testing.T) {
	events := slices.Repeat(stepCharge.Events, MaxChargeEvents)
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
	var action ledger.Action = stepCharge
	b.ReportAllocs()
	for b.Loop() {
		Digest(action)
	}
}
