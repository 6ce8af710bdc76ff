package mechanism

// Size is about how many bytes the descriptor takes, stored or in an answer: rather
// too many than too few.
func Size(m Mechanism) int {
	n := scalars
	if v, ok := m.(variable); ok {
		n += v.size()
	}
	return n
}

// scalars is more than any mechanism takes for its parameters that are single numbers.
const scalars = 64

// variable is a mechanism of which a descriptor can be of any length: it holds lists or
// other mechanisms, and says how many bytes those take.
type variable interface{ size() int }

func (b BandedMatrix) size() int            { return len(b.Coefficients) }
func (c Composed) size() int                { return eventsSize(c.Events.Values()) }
func (f FixedSizeSampled) size() int        { return Size(f.Mechanism) }
func (g Group) size() int                   { return Size(g.Mechanism) }
func (m MixtureOfGaussians) size() int      { return len(m.Sensitivities) + len(m.Probabilities) }
func (p PoissonSampled) size() int          { return Size(p.Mechanism) }
func (p PrivacyLossTable) size() int        { return len(p.Losses) + len(p.Masses) }
func (r RenyiDP) size() int                 { return len(r.Orders) + len(r.Epsilons) }
func (r RepeatAndSelect) size() int         { return Size(r.Mechanism) }
func (s Shuffled) size() int                { return Size(s.Mechanism) }
func (t TruncatedPoissonSampled) size() int { return Size(t.Mechanism) }

func (p Parallel) size() (n int) {
	for _, m := range p.Parts.Values() {
		n += Size(m)
	}
	return n
}

func eventsSize(events []Event) (n int) {
	for _, e := range events {
		n += Size(e.Mechanism)
	}
	return n
}
