// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToAdjacency converts an adjacency; field is its path in errors.
func ToAdjacency(field string, a pb.Workload_Adjacency) (mechanism.Adjacency, error) {
	switch a {
	case pb.Workload_ADD_OR_REMOVE_ONE:
		return mechanism.AddOrRemoveOne, nil
	case pb.Workload_REPLACE_ONE:
		return mechanism.ReplaceOne, nil
	case pb.Workload_ZERO_OUT:
		return mechanism.ZeroOut, nil
	}
	const allowed = "ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT"
	if a == pb.Workload_ADJACENCY_UNSPECIFIED {
		return 0, Absent(field, allowed)
	}
	return 0, Invalid(field, a.String(), allowed)
}

// FromAdjacency is the inverse of ToAdjacency; an invalid adjacency becomes
// ADJACENCY_UNSPECIFIED.
func FromAdjacency(a mechanism.Adjacency) pb.Workload_Adjacency {
	switch a {
	case mechanism.AddOrRemoveOne:
		return pb.Workload_ADD_OR_REMOVE_ONE
	case mechanism.ReplaceOne:
		return pb.Workload_REPLACE_ONE
	case mechanism.ZeroOut:
		return pb.Workload_ZERO_OUT
	}
	return pb.Workload_ADJACENCY_UNSPECIFIED
}

// toEvents converts without a check of ranges.
func toEvents(field string, events []*pb.Event) ([]mechanism.Event, error) {
	return toEventsAt(field, events, 0)
}

// toEventsAt is toEvents of events within so many mechanisms.
func toEventsAt(field string, events []*pb.Event, depth int) ([]mechanism.Event, error) {
	out := make([]mechanism.Event, len(events))
	for i, e := range events {
		if len(e.ProtoReflect().GetUnknown()) > 0 {
			return nil, Known(fmt.Sprintf("%s[%d]", field, i), e)
		}
		m, err := toMechanism(e.GetMechanism(), depth)
		if err != nil {
			return nil, InEvent(field, i, err)
		}
		out[i] = mechanism.Event{Mechanism: m, Count: e.GetCount()}
	}
	return out, nil
}

func checkEvents(adj mechanism.Adjacency, field string, events []mechanism.Event) error {
	for i, e := range events {
		if err := e.Check(adj); err != nil {
			return InEvent(field, i, err)
		}
	}
	return nil
}

// InEvent gives an error its path below event i. What a descriptor's own Check
// says starts at the kind ("gaussian.scale"), one level below "mechanism".
func InEvent(field string, i int, err error) error {
	e, ok := FromDomain(err).(*InvalidError)
	if !ok {
		return Under(fmt.Sprintf("%s[%d]", field, i), err)
	}
	if e.Field == "adjacency" {
		return e
	}
	if e.Field != "count" && e.Field != "mechanism" {
		e = Under("mechanism", e).(*InvalidError)
	}
	return Under(fmt.Sprintf("%s[%d]", field, i), e)
}

// FromEvents is the inverse of ToEvents.
func FromEvents(events []mechanism.Event) []*pb.Event {
	out := make([]*pb.Event, len(events))
	for i, e := range events {
		out[i] = &pb.Event{Mechanism: FromMechanism(e.Mechanism), Count: e.Count}
	}
	return out
}

// ToWorkload converts a workload of at most MaxWorkloadEvents events, possibly
// none. Fields in errors start at the workload: "events[0].count".
func ToWorkload(w *pb.Workload) (name string, c mechanism.Composition, err error) {
	if err := Known("workload", w); err != nil {
		return "", c, err
	}
	if err := checkText("name", w.GetName(), maxText); err != nil {
		return "", c, err
	}
	adj, err := ToAdjacency("adjacency", w.GetAdjacency())
	if err != nil {
		return "", c, err
	}
	if n := len(w.GetEvents()); n > MaxWorkloadEvents {
		return "", c, Invalid("events", fmt.Sprintf("%d events", n), fmt.Sprintf("at most %d", MaxWorkloadEvents))
	}
	events, err := toEvents("events", w.GetEvents())
	if err == nil {
		err = checkEvents(adj, "events", events)
	}
	if err != nil {
		return "", c, err
	}
	c, err = mechanism.Compose(adj, events)
	if err != nil {
		return "", c, FromDomain(err)
	}
	return w.GetName(), c, nil
}
