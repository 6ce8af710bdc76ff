package mechanism

import "slices"

// An outer mechanism runs others.
type outer interface{ inner() []Mechanism }

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
		if o, ok := m.(outer); ok {
			for _, inner := range o.inner() {
				visit(inner)
			}
		}
	}
	for _, p := range c.Parts {
		visit(p.Mechanism)
	}
	slices.Sort(list)
	return list
}

func (c Composed) inner() (list []Mechanism) {
	for _, e := range c.Events.Values() {
		list = append(list, e.Mechanism)
	}
	return list
}

func (p Parallel) inner() []Mechanism                { return p.Parts.Values() }
func (p PoissonSampled) inner() []Mechanism          { return []Mechanism{p.Mechanism} }
func (f FixedSizeSampled) inner() []Mechanism        { return []Mechanism{f.Mechanism} }
func (t TruncatedPoissonSampled) inner() []Mechanism { return []Mechanism{t.Mechanism} }
func (s Shuffled) inner() []Mechanism                { return []Mechanism{s.Mechanism} }
func (r RepeatAndSelect) inner() []Mechanism         { return []Mechanism{r.Mechanism} }
func (g Group) inner() []Mechanism                   { return []Mechanism{g.Mechanism} }
