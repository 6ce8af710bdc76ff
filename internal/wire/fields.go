package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// orEmpty makes a nil message, which only a Go program can build, an empty one.
func orEmpty[T any](m *T) *T {
	if m == nil {
		return new(T)
	}
	return m
}

// fields reads optional parameters and keeps the first error.
type fields struct{ err error }

// known refuses a descriptor with parameters that this version does not know.
func (f *fields) known(field string, m proto.Message) {
	if err := known(field, m); err != nil && f.err == nil {
		f.err = err
	}
}

func (f *fields) float(field string, v *float64, allowed string) float64 {
	return optional(f, field, v, allowed)
}

func (f *fields) whole(field string, v *uint64, allowed string) uint64 {
	return optional(f, field, v, allowed)
}

// optional reads an absent number as 0, which is refused where it is given.
func optional[T float64 | uint64](f *fields, field string, v *T, allowed string) T {
	if v == nil {
		return 0
	}
	if *v == 0 && f.err == nil {
		f.err = invalid(field, "0", allowed)
	}
	return *v
}

// list packs numbers; longer lists are refused before that.
func (f *fields) list(field string, values []float64, most int) mechanism.Numbers {
	if f.atMost(field, len(values), most); len(values) > most {
		return ""
	}
	return mechanism.NumbersOf(values...)
}

// atMost refuses lists that are too long.
func (f *fields) atMost(field string, n, most int) {
	if n > most && f.err == nil {
		f.err = invalid(field, fmt.Sprintf("%d of them", n), fmt.Sprintf("at most %d", most))
	}
}

// inner converts the mechanism that another one runs; nil where none is given, which
// the other's Check says.
func (f *fields) inner(field string, m *pb.Mechanism, depth int) mechanism.Mechanism {
	if m == nil {
		return nil
	}
	d, err := toMechanism(m, depth+1)
	if err != nil && f.err == nil {
		f.err = under(field, err)
	}
	return d
}

// parts converts a list of mechanisms; a longer one is refused before that.
func (f *fields) parts(field string, parts []*pb.Mechanism, most, depth int) mechanism.List[mechanism.Mechanism] {
	if f.atMost(field, len(parts), most); f.err != nil {
		return mechanism.ListOf[mechanism.Mechanism]()
	}
	out := make([]mechanism.Mechanism, len(parts))
	for i, part := range parts {
		m, err := toMechanism(part, depth+1)
		if err != nil {
			f.err = under(fmt.Sprintf("%s[%d]", field, i), err)
			return mechanism.ListOf[mechanism.Mechanism]()
		}
		out[i] = m
	}
	return mechanism.ListOf(out...)
}

// events is parts of events.
func (f *fields) events(field string, events []*pb.Event, most, depth int) mechanism.List[mechanism.Event] {
	if f.atMost(field, len(events), most); f.err != nil {
		return mechanism.ListOf[mechanism.Event]()
	}
	var out []mechanism.Event
	out, f.err = toEventsAt(field, events, depth+1)
	return mechanism.ListOf(out...)
}

func (f *fields) participation(kind string, steps, participations, separation *uint64) mechanism.Participation {
	return mechanism.Participation{
		Steps:             f.whole(kind+".steps", steps, allowedCount),
		Participations:    f.whole(kind+".participations", participations, allowedCount),
		MinimumSeparation: f.whole(kind+".minimum_separation", separation, allowedCount),
	}
}

// given is the inverse of float and whole: 0 becomes absent.
func given[T float64 | uint64](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}
