// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// kindOf returns the message of the mechanism's own kind, to change it.
func kindOf(m *pb.Mechanism) protoreflect.Message {
	r := m.ProtoReflect()
	return r.Mutable(r.WhichOneof(r.Descriptor().Oneofs().ByName("kind"))).Message()
}

// checkInvalid wants an *InvalidError for field with what is allowed.
func checkInvalid(t *testing.T, err error, field string) *InvalidError {
	t.Helper()
	var e *InvalidError
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want an *InvalidError of %s", err, field)
	}
	if e.Field != field || e.Value == "" || e.Allowed == "" {
		t.Fatalf("error = %q, want field %s with a value and what is allowed", e, field)
	}
	return e
}

func TestEveryKindHasASample(t *testing.T) {
	kinds := (&pb.Mechanism{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	seen := map[string]bool{}
	for _, m := range wiretest.EveryMechanism {
		seen[m.Kind()] = true
	}
	for i := range kinds.Len() {
		if name := string(kinds.Get(i).Name()); !seen[name] {
			t.Errorf("%s is converted, digested and stored untested: add a sample of each way to give it "+
				"at the end of EveryMechanism in internal/wire/wiretest/samples.go", name)
		}
	}
}

func TestMechanismRoundTrip(t *testing.T) {
	check := func(t rapid.TB, m mechanism.Mechanism) {
		message := FromMechanism(m)
		if kind := kindOf(message).Descriptor(); m.Kind() != string(
			message.ProtoReflect().WhichOneof(kindOneof).Name()) {
			t.Fatalf("%v became %s", m, kind.FullName())
		}
		back, err := ToMechanism(message)
		if err != nil || back != m {
			t.Fatalf("%v came back as %v, %v", m, back, err)
		}
	}
	for _, m := range wiretest.EveryMechanism {
		check(t, m)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, wiretest.Mechanisms().Draw(t, "mechanism")) })
}

var kindOneof = (&pb.Mechanism{}).ProtoReflect().Descriptor().Oneofs().ByName("kind")

// TestPresentParameters puts every value that no parameter may have into every
// parameter of every kind, those that were absent too.
func TestPresentParameters(t *testing.T) {
	for _, m := range wiretest.EveryMechanism {
		all := kindOf(FromMechanism(m)).Descriptor().Fields()
		for i := range all.Len() {
			fd := all.Get(i)
			var bad []protoreflect.Value
			switch kind := fd.Kind(); {
			case fd.IsList():
				continue
			case kind == protoreflect.DoubleKind:
				for _, v := range []float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Inf(1), math.Inf(-1),
					0x1p-1023, math.SmallestNonzeroFloat64} {
					bad = append(bad, protoreflect.ValueOfFloat64(v))
				}
			case kind == protoreflect.Uint64Kind:
				bad = append(bad, protoreflect.ValueOfUint64(0), protoreflect.ValueOfUint64(math.MaxUint64))
			}
			for _, v := range bad {
				message := FromMechanism(m)
				kindOf(message).Set(fd, v)
				_, err := ToMechanism(message)
				var e *InvalidError
				if !errors.As(err, &e) || !strings.HasPrefix(e.Field, m.Kind()+".") {
					t.Errorf("%v with %s = %v: error %v", m, fd.Name(), v, err)
					continue
				}
				if isZero := fd.Kind() == protoreflect.Uint64Kind && v.Uint() == 0 ||
					fd.Kind() == protoreflect.DoubleKind && v.Float() == 0; isZero {
					if want := m.Kind() + "." + string(fd.Name()); e.Field != want || e.Value != "0" {
						t.Errorf("%v with %s = 0: error %q, want field %s, value 0", m, fd.Name(), e, want)
					}
				}
			}
		}
	}
}

// TestListsOfNumbers: none, too many, and every value that no number of a list may be.
func TestListsOfNumbers(t *testing.T) {
	seen := 0
	for _, m := range wiretest.EveryMechanism {
		all := kindOf(FromMechanism(m)).Descriptor().Fields()
		for i := range all.Len() {
			fd := all.Get(i)
			if !fd.IsList() || fd.Kind() != protoreflect.DoubleKind || !kindOf(FromMechanism(m)).Has(fd) {
				continue
			}
			seen++
			check := func(name string, change func(list protoreflect.List)) {
				message := FromMechanism(m)
				change(kindOf(message).Mutable(fd).List())
				_, err := ToMechanism(message)
				var e *InvalidError
				if !errors.As(err, &e) || !strings.HasPrefix(e.Field, m.Kind()+".") {
					t.Errorf("%v with %s %s: error %v", m, name, fd.Name(), err)
				}
			}
			check("no", func(l protoreflect.List) { l.Truncate(0) })
			check("too many", func(l protoreflect.List) {
				for v := 2.0; v < 1<<16; v++ {
					l.Append(protoreflect.ValueOfFloat64(v))
				}
			})
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				check("a bad number in", func(l protoreflect.List) { l.Set(0, protoreflect.ValueOfFloat64(v)) })
			}
		}
	}
	if seen < 2 {
		t.Errorf("%d lists", seen)
	}
}

func TestUnknownParameters(t *testing.T) {
	for _, m := range wiretest.EveryMechanism {
		inside := FromMechanism(m)
		kindOf(inside).SetUnknown(unknownField)
		_, err := ToMechanism(inside)
		checkInvalid(t, err, m.Kind())

		beside := FromMechanism(m)
		beside.ProtoReflect().SetUnknown(unknownField)
		_, err = ToMechanism(beside)
		checkInvalid(t, err, "mechanism")
	}
}

func TestMechanismErrors(t *testing.T) {
	f, u := proto.Float64, proto.Uint64
	gaussian := func(g *pb.Gaussian) *pb.Mechanism { return &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: g}} }
	sampled := func(p *pb.PoissonSampled) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: p}}
	}
	deep := gaussian(&pb.Gaussian{NoiseMultiplier: f(1)})
	for range 1000 {
		deep = sampled(&pb.PoissonSampled{SamplingProbability: f(0.5), Mechanism: deep})
	}
	for _, c := range []struct {
		name    string
		m       *pb.Mechanism
		message string
	}{
		{"nothing", nil, "mechanism: missing; allowed: one of"},
		{"no kind", &pb.Mechanism{}, "mechanism: missing; allowed: one of"},
		{"nil kind", gaussian(nil), "gaussian.standard_deviation: missing; allowed: a finite number > 0"},
		{"empty", gaussian(&pb.Gaussian{}), "gaussian.standard_deviation: missing; allowed: a finite number > 0"},
		{"no sensitivity", gaussian(&pb.Gaussian{StandardDeviation: f(1)}),
			"gaussian.sensitivity: missing; allowed: exactly one of sensitivity, distance"},
		{"both", gaussian(&pb.Gaussian{StandardDeviation: f(1), Sensitivity: f(1), Distance: f(1)}),
			"gaussian.distance: given together with sensitivity"},
		{"zero beside a multiplier", gaussian(&pb.Gaussian{NoiseMultiplier: f(1), Sensitivity: f(0)}),
			"gaussian.sensitivity: 0; allowed: a finite number > 0, or absent"},
		{"value beside a multiplier", gaussian(&pb.Gaussian{NoiseMultiplier: f(1), Sensitivity: f(1)}),
			"gaussian.noise_multiplier: 1 together with other parameters"},
		{"NaN", gaussian(&pb.Gaussian{NoiseMultiplier: f(math.NaN())}), "gaussian.noise_multiplier: NaN; allowed"},
		{"sampling nothing", sampled(&pb.PoissonSampled{SamplingProbability: f(0.5)}),
			"poisson_sampled.mechanism: missing"},
		{"sampling no kind", sampled(&pb.PoissonSampled{SamplingProbability: f(0.5), Mechanism: &pb.Mechanism{}}),
			"poisson_sampled.mechanism.mechanism: missing"},
		{"q above 1", sampled(&pb.PoissonSampled{SamplingProbability: f(1.5),
			Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(1)})}),
			"poisson_sampled.sampling_probability: 1.5; allowed: a number in (0, 1]"},
		{"batch above dataset",
			sampled(&pb.PoissonSampled{BatchSize: u(11), DatasetSize: u(10),
				Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(1)})}),
			"poisson_sampled.batch_size: 11; allowed: a whole number from 1 to the dataset size 10"},
		{"inner", sampled(&pb.PoissonSampled{SamplingProbability: f(0.5),
			Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(0)})}),
			"poisson_sampled.mechanism.gaussian.noise_multiplier: 0; allowed"},
		{"twice sampled",
			sampled(&pb.PoissonSampled{SamplingProbability: f(0.5),
				Mechanism: sampled(&pb.PoissonSampled{SamplingProbability: f(0.5),
					Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(1)})})}),
			"poisson_sampled.mechanism: poisson_sampled; allowed: gaussian"},
		{"within a list",
			composedMessage(&pb.Event{Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(1)}), Count: 1},
				&pb.Event{Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(0)}), Count: 1}),
			"composed.events[1].mechanism.gaussian.noise_multiplier: 0; allowed"},
		{"no count within a list", composedMessage(&pb.Event{Mechanism: gaussian(&pb.Gaussian{NoiseMultiplier: f(1)})}),
			"composed.events[0].count: missing or 0"},
		{"too long a list", composedMessage(make([]*pb.Event, 65)...),
			"composed.events: 65 of them; allowed: at most 64"},
		{"no answer under any adjacency",
			composedMessage(&pb.Event{Mechanism: sampled(&pb.PoissonSampled{SamplingProbability: f(0.5),
				Mechanism: composedMessage(
					&pb.Event{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: f(1)}}},
						Count: 2})}), Count: 1}),
			"composed.events[0].mechanism.poisson_sampled.mechanism.composed.events: a pure_dp; allowed: gaussian " +
				"only"},
		{"deep", deep, "mechanism: nested 5 deep; allowed: at most 4 deep"},
	} {
		_, err := ToMechanism(c.m)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.message)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: a message of %d bytes", c.name, len(err.Error()))
		}
	}
}

func composedMessage(events ...*pb.Event) *pb.Mechanism {
	return &pb.Mechanism{Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: events}}}
}

func TestFromMechanismOfNothing(t *testing.T) {
	if m := FromMechanism(nil); m != nil {
		t.Errorf("FromMechanism(nil) = %v, want nil", m)
	}
}
