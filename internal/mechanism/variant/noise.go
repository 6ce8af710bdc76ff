// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"reflect"
	"strings"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// Noise is the parameter of a mechanism that scales its noise, perhaps of one inside it: the larger
// it is, the less privacy is lost.
type Noise struct {
	Field string  // its name in the API: "noise_multiplier"
	Value float64 // 0 where it was not given

	// With returns the mechanism with another value of it.
	With func(value float64) mechanism.Mechanism
}

// untunable is a kind with several scales of which none alone is its noise. It says why: it has several
// noises, or more of one of them makes the mechanism lose less in one way and more in another.
type untunable interface{ HasNoOneNoise() string }

// NoiseOf returns the parameter that scales m's noise: of several the one that was given, or that
// of the mechanism that m runs. A mechanism that is described by what it guarantees has none, and
// neither has one with several noises: then none says why, "has no noise that is described".
func NoiseOf(m mechanism.Mechanism) (n Noise, none string) {
	const undescribed = "has no noise that is described"
	k := mechanism.KindOf(m)
	if k == nil {
		return Noise{}, undescribed
	}
	if u, ok := m.(untunable); ok {
		return Noise{}, u.HasNoOneNoise()
	}
	descriptor := reflect.ValueOf(m)
	var scales, given []*table.Parameter
	var multiplier, inside *table.Parameter
	normed := false
	for i := range k.Parameters {
		p := &k.Parameters[i]
		is := !p.Of(descriptor).IsZero()
		switch {
		case p.Role == table.RoleLoss && is:
			return Noise{}, undescribed
		case p.Role == table.RoleNorm && is:
			normed = true
		case p.Role == table.RoleInside && p.Type == reflect.TypeFor[mechanism.Mechanism]():
			inside = p
		case p.Role == table.RoleScale && p.Name == "noise_multiplier":
			multiplier = p
		case p.Role == table.RoleScale:
			scales = append(scales, p)
			if is {
				given = append(given, p)
			}
		}
	}
	switch {
	case multiplier != nil && (len(scales) == 0 || len(given) == 0 && !normed): // it is relative to the norm
		return noiseOf(k, multiplier, descriptor), ""
	case len(scales) == 1:
		return noiseOf(k, scales[0], descriptor), ""
	case len(given) == 1:
		return noiseOf(k, given[0], descriptor), ""
	case len(scales) > 0:
		return Noise{}, "has the noise of the one that is given of " + names(scales)
	case inside != nil:
		return noiseInside(k, inside, descriptor)
	}
	return Noise{}, undescribed
}

func names(list []*table.Parameter) string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name)
	}
	return strings.Join(all, " and ")
}

// noiseOf returns the noise that is the parameter p of a descriptor of kind k.
func noiseOf(k *mechanism.Kind, p *table.Parameter, descriptor reflect.Value) Noise {
	return Noise{Field: p.Name, Value: p.Of(descriptor).Float(), With: func(value float64) mechanism.Mechanism {
		return with(k, p, descriptor, reflect.ValueOf(value))
	}}
}

// noiseInside returns the noise of the mechanism that is the parameter p of a descriptor of kind k.
func noiseInside(k *mechanism.Kind, p *table.Parameter, descriptor reflect.Value) (n Noise, none string) {
	m, _ := p.Of(descriptor).Interface().(mechanism.Mechanism)
	inner, none := NoiseOf(m)
	return Noise{Field: inner.Field, Value: inner.Value, With: func(value float64) mechanism.Mechanism {
		return with(k, p, descriptor, reflect.ValueOf(inner.With(value)))
	}}, none
}

// with returns the descriptor with another value of the parameter p.
func with(k *mechanism.Kind, p *table.Parameter, descriptor, value reflect.Value) mechanism.Mechanism {
	return k.New(func(each *table.Parameter, field reflect.Value) {
		if each == p {
			field.Set(value)
		} else {
			field.Set(each.Of(descriptor))
		}
	})
}
