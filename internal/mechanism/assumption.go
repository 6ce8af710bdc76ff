package mechanism

import "slices"

// An assuming mechanism has a loss that rests on something its parameters do not say.
type assuming interface {
	// assumes says in words what has to be true under adj, or returns "".
	assumes(adj Adjacency) string
}

// Assumptions are what the losses in c rest on beyond the parameters, in words, each
// once, in alphabetical order. They include those of mechanisms inside others.
func (c Composition) Assumptions() []string {
	var list []string
	var visit func(m Mechanism)
	visit = func(m Mechanism) {
		if a, ok := m.(assuming); ok {
			if text := a.assumes(c.Adjacency); text != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		for _, inner := range Inside(m) {
			visit(inner)
		}
	}
	for _, p := range c.Parts {
		visit(p.Mechanism)
	}
	slices.Sort(list)
	return list
}
