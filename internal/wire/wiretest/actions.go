// SPDX-License-Identifier: Apache-2.0

package wiretest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Actions draws actions of every kind as entries have them, by the tables of the kinds: a new kind is drawn, too.
func Actions() *rapid.Generator[ledger.Action] {
	return rapid.Custom(func(t *rapid.T) ledger.Action {
		k := rapid.SampledFrom(ledger.ActionKinds()).Draw(t, "kind")
		return drawn(t, k, false)
	})
}

// FewActions draws what is asked for from so few values that equal ones come often, and with texts
// whose boundaries could be confused. They need not be valid.
func FewActions() *rapid.Generator[ledger.Action] {
	return rapid.Custom(func(t *rapid.T) ledger.Action {
		k := rapid.SampledFrom(ledger.ActionKinds()).Draw(t, "kind")
		return ledger.Asked(drawn(t, k, true))
	})
}

func drawn(t *rapid.T, k *ledger.ActionKind, few bool) ledger.Action {
	v := reflect.New(k.Type).Elem()
	d := drawer{t, few}
	d.fields(v, k.Fields)
	action := v.Interface().(ledger.Action)
	if fit := fits[k.Name]; fit != nil && !few {
		return fit(t, action)
	}
	return action
}

// fits make fields agree that belong together, of the kinds where some do.
var fits = map[string]func(t *rapid.T, v ledger.Action) ledger.Action{
	"reserve": func(_ *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Reserve)
		v.Lifetime = max(v.Lifetime, time.Second)
		if v.Child != "" {
			v.Lifetime = 0
		}
		return v
	},
	"reconcile": func(_ *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Reconcile)
		if v.AcceptLoss {
			v.Events, v.Reason = nil, "r"+v.Reason[:min(len(v.Reason), 1)]
		}
		v.Contribution = ledger.OverAll
		if len(v.Events) == 0 {
			v.Contribution = 0
		}
		v.Reason = strings.ToValidUTF8(v.Reason, "")
		return v
	},
	"raise": func(t *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Raise)
		w := rapid.SampledFrom([]func() ledger.Raise{RaisedFilter, RaisedPlan}).Draw(t, "raise")()
		v.Budgets, v.Plan, v.Resolution = w.Budgets, w.Plan, w.Resolution
		return v
	},
	"amend_dataset": func(t *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.AmendDataset)
		v.Budgets, v.Resolution = nil, ledger.Resolution{}
		if rapid.Bool().Draw(t, "larger") {
			w := RaisedFilter()
			v.Budgets, v.Resolution = w.Budgets, w.Resolution
		}
		return v
	},
	"observe": func(_ *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Observe)
		c := &v.Canaries
		c.Inserted = 1 + c.Inserted%100_000
		c.Guesses = 1 + c.Guesses%c.Inserted
		c.Correct %= 1 + c.Guesses
		c.Delta, c.Confidence = c.Delta/2, c.Confidence/2
		return v
	},
	"restored": func(t *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Restored)
		v.Lost.Hash[0] = 1
		if rapid.Bool().Draw(t, "nothing lost") {
			v.Lost = ledger.Head{}
		}
		v.Lost.Position = min(v.Lost.Position, math.MaxUint64)
		if v.Lost.Position == 0 {
			v.Lost = ledger.Head{}
		}
		return v
	},
	"access_policy": func(_ *rapid.T, action ledger.Action) ledger.Action {
		v := Policy(string(action.(ledger.AccessPolicy).Text))
		if len(v.Text) == 0 {
			v.Text = nil
		}
		return v
	},
	"propose": func(t *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Propose)
		v.Action = ledger.Asked(rapid.SampledFrom(approvable()).Draw(t, "proposed")).(ledger.Approvable)
		return v
	},
	"together": func(t *rapid.T, action ledger.Action) ledger.Action {
		v := action.(ledger.Together)
		v.Action = ledger.Charge{Events: Events(1, 2).Draw(t, "events")}
		if v.Range != nil {
			v.Range.Prefix, v.Range.First, v.Range.Last = "days/", "1", "2"
		}
		return v
	},
}

// drawer draws values of the types of fields.
type drawer struct {
	t   *rapid.T
	few bool
}

func (d drawer) fields(v reflect.Value, fields []ledger.Field) {
	for _, f := range fields {
		d.field(f.Of(v), f, f.Need != "" || rapid.Bool().Draw(d.t, "given"))
	}
}

// examples are texts that name things, by the table's words for them.
var examples = map[string][]string{"uuid": {UUID, OtherUUID}, "ledger": {"a", "a/b"}, "member": {"days/1", "days/2"},
	"dataset": {"dataset:survey"}, "dataset_id": {"survey", "other"}, "warning": {"large-delta", "w"}}

func (d drawer) text(f ledger.Field) string {
	if d.few {
		return rapid.SampledFrom([]string{"", "a", "aa", "\x00", "a\x00"}).Draw(d.t, "text")
	}
	if names := examples[f.Is]; names != nil {
		return rapid.SampledFrom(names).Draw(d.t, f.Is)
	}
	most := f.Most
	if most == 0 || f.Type.Kind() == reflect.Slice {
		most = maxText
	}
	if f.Need != "" {
		return "r" + Texts(most-1).Draw(d.t, "text")
	}
	return Texts(most).Draw(d.t, "text")
}

func (d drawer) number(f ledger.Field) uint64 {
	least := uint64(0)
	if f.Need != "" {
		least = 1
	}
	if d.few {
		return rapid.Uint64Range(least, least+1).Draw(d.t, "number")
	}
	return rapid.Uint64Min(least).Draw(d.t, "number")
}

func (d drawer) field(v reflect.Value, f ledger.Field, given bool) {
	if !given && !d.few {
		return
	}
	switch into := v.Addr().Interface().(type) {
	case *ledger.Assertion:
	case *[]mechanism.Event:
		*into = d.events()
	case *[]ledger.Label:
		*into = d.labels()
	case *ledger.Workload:
		*into = ledger.Workload{Name: d.text(f), Events: d.events()}
	case *time.Duration:
		*into = time.Duration(rapid.IntRange(1, max(1, min(f.Most, 2678400))).Draw(d.t, "seconds")) * time.Second
		if f.Most == 0 {
			*into = time.Duration(rapid.IntRange(1, int(ledger.MaxLifetime/time.Second)).Draw(d.t, "s")) * time.Second
		}
		if d.few {
			*into = time.Duration(rapid.IntRange(0, 1).Draw(d.t, "seconds")) * time.Second
		}
	case *time.Time:
		*into = Times().Draw(d.t, "time")
		if d.few {
			*into = time.Unix(0, rapid.Int64Range(0, 1).Draw(d.t, "time")).UTC()
		}
	case *ledger.Hash:
		into[0] = rapid.ByteRange(1, 2).Draw(d.t, "hash")
	case *[]byte:
		*into = []byte(d.text(f))
	case *accountant.Guard:
		*into = accountant.Guard(rapid.IntRange(0, 2).Draw(d.t, "guard"))
	case *ledger.Contribution:
		*into = ledger.Contribution(rapid.IntRange(1, 4).Draw(d.t, "contribution"))
	case *ledger.Approvable:
		k := d.kind("free", "refund", "reconcile", "amend_dataset")
		*into = ledger.Asked(drawn(d.t, k, d.few)).(ledger.Approvable)
	case *ledger.Action:
		*into = drawn(d.t, d.kind("charge", "reserve", "commit", "release"), d.few)
	case *mechanism.Mechanism:
		*into = rapid.SampledFrom(EveryMechanism).Draw(d.t, "mechanism")
	default:
		d.plain(v, f, given)
	}
}

// kind draws one of the kinds with these names.
func (d drawer) kind(names ...string) *ledger.ActionKind {
	name := rapid.SampledFrom(names).Draw(d.t, "kind within")
	all := ledger.ActionKinds()
	return all[slices.IndexFunc(all, func(k *ledger.ActionKind) bool { return k.Name == name })]
}

// plain draws values of types that belong to no kind of field.
func (d drawer) plain(v reflect.Value, f ledger.Field, given bool) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(d.t, "bool"))
	case reflect.Uint64:
		v.SetUint(d.number(f))
	case reflect.Uint32:
		v.SetUint(d.number(f) % math.MaxUint32)
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(d.t, "real"))
	case reflect.String:
		v.SetString(d.text(f))
	case reflect.Struct:
		d.fields(v, ledger.FieldsOf(v.Type()))
	case reflect.Pointer:
		if given {
			v.Set(reflect.New(v.Type().Elem()))
			d.field(v.Elem(), f, true)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(d.t, "length")
		if f.Need != "" {
			n = max(n, 1)
		}
		for range n {
			element := reflect.New(v.Type().Elem()).Elem()
			d.field(element, f, true)
			v.Set(reflect.Append(v, element))
		}
	default:
		panic(fmt.Sprintf("wiretest: a type of field that is not drawn: %v", v.Type()))
	}
}

func (d drawer) events() []mechanism.Event {
	if !d.few {
		return Events(1, 4).Draw(d.t, "events")
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mechanism.Event {
		return mechanism.Event{Mechanism: rapid.SampledFrom(EveryMechanism).Draw(t, "mechanism"),
			Count: rapid.Uint32Range(1, 2).Draw(t, "count")}
	}), 1, 2).Draw(d.t, "events")
}

func (d drawer) labels() []ledger.Label {
	if !d.few {
		return Labels().Draw(d.t, "labels")
	}
	text := rapid.SampledFrom([]string{"", "a", "aa", "\x00", "a\x00"})
	labels := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ledger.Label {
		return ledger.Label{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")}
	}), 0, 2, func(l ledger.Label) string { return l.Key }).Draw(d.t, "labels")
	slices.SortFunc(labels, func(x, y ledger.Label) int { return strings.Compare(x.Key, y.Key) })
	return labels
}
