package mechanism

import (
	"reflect"
	"strings"
)

// Noise is the parameter of a mechanism that scales its noise, perhaps of one inside it: the larger
// it is, the less privacy is lost.
type Noise struct {
	Field string  // its name in the API: "noise_multiplier"
	Value float64 // 0 where it was not given

	// With returns the mechanism with another value of it.
	With func(value float64) Mechanism
}

// untunable is a kind with scales none of which is its noise, and says why: it has several noises,
// or with more of it the mechanism loses less in one way and more in another.
type untunable interface{ hasNoOneNoise() string }

// NoiseOf returns the parameter that scales m's noise: of several the one that was given, or that
// of the mechanism that m runs. A mechanism that is described by what it guarantees has none, and
// neither has one with several noises: then none says why, "has no noise that is described".
func NoiseOf(m Mechanism) (n Noise, none string) {
	const undescribed = "has no noise that is described"
	k := KindOf(m)
	if k == nil {
		return Noise{}, undescribed
	}
	if u, ok := m.(untunable); ok {
		return Noise{}, u.hasNoOneNoise()
	}
	descriptor := reflect.ValueOf(m)
	var scales, given []*Parameter
	var multiplier, inside *Parameter
	normed := false
	for i := range k.Parameters {
		p := &k.Parameters[i]
		is := !p.Of(descriptor).IsZero()
		switch {
		case p.Role == RoleLoss && is:
			return Noise{}, undescribed
		case p.Role == RoleNorm && is:
			normed = true
		case p.Role == RoleInside && p.Type == reflect.TypeFor[Mechanism]():
			inside = p
		case p.Role == RoleScale && p.Name == "noise_multiplier":
			multiplier = p
		case p.Role == RoleScale:
			scales = append(scales, p)
			if is {
				given = append(given, p)
			}
		}
	}
	switch {
	case multiplier != nil && (len(scales) == 0 || len(given) == 0 && !normed): // it is relative to the norm
		return k.noise(multiplier, descriptor), ""
	case len(scales) == 1:
		return k.noise(scales[0], descriptor), ""
	case len(given) == 1:
		return k.noise(given[0], descriptor), ""
	case len(scales) > 0:
		return Noise{}, "has the noise of the one that is given of " + names(scales)
	case inside != nil:
		return k.noiseInside(inside, descriptor)
	}
	return Noise{}, undescribed
}

func names(list []*Parameter) string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name)
	}
	return strings.Join(all, " and ")
}

// noise is the parameter p of a descriptor.
func (k *Kind) noise(p *Parameter, descriptor reflect.Value) Noise {
	return Noise{Field: p.Name, Value: p.Of(descriptor).Float(), With: func(value float64) Mechanism {
		return k.with(p, descriptor, reflect.ValueOf(value))
	}}
}

// noiseInside is the noise of the mechanism that is the parameter p of a descriptor.
func (k *Kind) noiseInside(p *Parameter, descriptor reflect.Value) (n Noise, none string) {
	m, _ := p.Of(descriptor).Interface().(Mechanism)
	inner, none := NoiseOf(m)
	return Noise{Field: inner.Field, Value: inner.Value, With: func(value float64) Mechanism {
		return k.with(p, descriptor, reflect.ValueOf(inner.With(value)))
	}}, none
}

// with is the descriptor with another value of the parameter p.
func (k *Kind) with(p *Parameter, descriptor, value reflect.Value) Mechanism {
	d := reflect.New(k.descriptor).Elem()
	d.Set(descriptor)
	p.Of(d).Set(value)
	return d.Interface().(Mechanism)
}
