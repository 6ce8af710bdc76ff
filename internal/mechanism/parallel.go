package mechanism

import "fmt"

// MaxParts bounds the parts of a Parallel.
const MaxParts = 64

// Parallel runs a mechanism on each of several disjoint parts of the dataset. Which part
// a record belongs to depends on that record alone and is fixed beforehand: its presence
// moves the output of one part only (McSherry 2009, Thm 4). It costs what the most
// expensive part costs, whichever that is beside everything else.
type Parallel struct {
	Parts List[Mechanism] // 1 to MaxParts
}

// Kind is "parallel".
func (Parallel) Kind() string { return "parallel" }

// Check implements Mechanism: defined under ADD_OR_REMOVE_ONE, where neighbours differ in
// one part.
func (p Parallel) Check(adj Adjacency) error {
	parts := p.Parts.Values()
	if n := len(parts); n == 0 || n > MaxParts {
		return &ParameterError{"parallel.parts", fmt.Sprintf("%d parts", n), fmt.Sprintf("1 to %d parts", MaxParts)}
	}
	if depth(p) > maxComposedDepth {
		return &ParameterError{"parallel.parts", "lists within lists within lists", fmt.Sprintf("%d levels of lists", maxComposedDepth)}
	}
	all := 0
	for i, m := range parts {
		if m == nil {
			return &ParameterError{fmt.Sprintf("parallel.parts[%d]", i), "missing", "one of the mechanisms of docs/mechanisms.md"}
		}
		if err := m.Check(adj); err != nil {
			if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
				return AtIndex(pe, "parallel.parts", i)
			}
			return err
		}
		if all += leaves(m); all > maxComposedParts {
			return &ParameterError{"parallel.parts", "more mechanisms in all", fmt.Sprintf("at most %d", maxComposedParts)}
		}
	}
	if adj != AddOrRemoveOne {
		reason := "a record that is replaced may leave one part and enter another"
		if adj == ZeroOut {
			reason = "a null record belongs to no part that is told"
		}
		return &AdjacencyError{"parallel", adj, reason, "composed of all parts, or a ledger under ADD_OR_REMOVE_ONE"}
	}
	return nil
}

// leaves is how many mechanisms there are within m.
func leaves(m Mechanism) int {
	n := 0
	switch m := m.(type) {
	case Composed:
		for _, e := range m.Events.Values() {
			n += leaves(e.Mechanism)
		}
	case Parallel:
		for _, part := range m.Parts.Values() {
			n += leaves(part)
		}
	case RepeatAndSelect:
		return leaves(m.Mechanism)
	default:
		return 1
	}
	return n
}

func (p Parallel) String() string {
	events := []Event{}
	for _, m := range p.Parts.Values() {
		events = append(events, Event{m, 1})
	}
	return "parallel(" + describeList(events, " | ") + ")"
}

func (Parallel) sealed() {}
