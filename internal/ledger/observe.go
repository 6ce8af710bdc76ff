// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Observe records what canaries showed of the training whose releases the ledger has. It spends nothing and changes
// no number: what the facts say is computed when a statement is asked for.
type Observe struct {
	Canaries Canaries `field:"1" need:"how many canaries there were, and how many guesses were right"`
	Reason   string   `field:"2" most:"1024"` // which run it was
	// what was charged or reserved by then, for a comparison that later charges do not wash out
	Charged []mechanism.Event `field:"3" most:"1000" decided:"the ledger says it"`
}

// Canaries are an accountant.CanaryRun as entries have it.
type Canaries struct {
	Inserted   uint32  `field:"1" need:"a whole number from 1 to 100,000"`
	Guesses    uint32  `field:"2" need:"a whole number from 1 to inserted"`
	Correct    uint32  `field:"3"`
	Delta      float64 `field:"4"`
	Confidence float64 `field:"5" range:"a number > 0 and < 1, such as 0.95"` // 0: the usual one
}

// Run returns what the accountant asks about.
func (c Canaries) Run() accountant.CanaryRun {
	run := accountant.CanaryRun{Inserted: int(c.Inserted), Guesses: int(c.Guesses), Correct: int(c.Correct),
		Delta: c.Delta}
	if c.Confidence != 0 {
		run.Confidence = &c.Confidence
	}
	return run
}

// Observation is an Observe as it was recorded.
type Observation struct {
	Observe
	Position  uint64 // of the entry that recorded it
	Principal string // who did
	Time      time.Time
}

const (
	// maxObservations bounds those of one ledger, which its statements compute anew.
	maxObservations = 100
	// mostObserved and mostObservedBytes bound what one keeps of what was charged.
	mostObserved, mostObservedBytes = 1000, 16 << 10
)

// CheckAsked checks what belongs together.
func (v Observe) CheckAsked() error { return v.Canaries.Run().Check() }

// Kind implements Action.
func (Observe) Kind() string { return "observe" }

// Details implements Action.
func (v Observe) Details() Details {
	d := Details{Reason: v.Reason, More: 64}
	for _, e := range v.Charged {
		d.More += mechanism.Size(e.Mechanism)
	}
	return d
}

func (v Observe) decide(b *Batch) error {
	if n := len(b.amended.observed); n >= maxObservations {
		return refuse(ErrOutOfRange, "observations: %d; allowed: at most %d in one ledger", n+1, maxObservations)
	}
	v.Charged = b.observable()
	b.request.Action = v
	return nil
}

// observable is what is charged or reserved; nil if an entry should not repeat that much.
func (b *Batch) observable() (events []mechanism.Event) {
	var all []mechanism.Event
	bytes := 0
	for _, p := range slices.Concat(b.parts(), b.held.merged()) {
		bytes += mechanism.Size(p.Mechanism)
		if len(all) == mostObserved || bytes > mostObservedBytes || p.Count > math.MaxUint32 {
			return nil
		}
		all = append(all, mechanism.Event{Mechanism: p.Mechanism, Count: uint32(p.Count)})
	}
	return all
}

func (Observe) reconciles() bool { return false }

func (v Observe) amend(a amendments, e Entry) amendments {
	a.observed = append(slices.Clip(a.observed), Observation{v, e.Position, e.Writer.Principal, e.Time})
	return a
}
