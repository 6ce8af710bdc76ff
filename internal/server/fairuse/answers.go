// SPDX-License-Identifier: Apache-2.0

package fairuse

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// How many bytes of memory answers may take that are being made or sent: those to all callers, to one who proves who
// they are, and to all others together. Of the answers to writes the long ones are among them: a charge is never
// refused for this, but the receipt of one that was sent before may have to wait.
const (
	allAnswers    = 64 << 20
	eachAnswers   = 16 << 20
	othersAnswers = 32 << 20
)

// answerPause is when somebody may come back whose answer found no room.
const answerPause = time.Second

// Answers counts the bytes of the answers that are being made or sent.
type Answers struct {
	shares
	refused func(limit string)
}

// NewAnswers returns an allowance of which nothing is taken. refused is called with "answers" for each answer that is
// refused.
func NewAnswers(refused func(limit string)) *Answers { return &Answers{refused: refused} }

// Answer is what one answer takes of the allowance. It is safe for concurrent use.
type Answer struct {
	of *Answers
	to holder

	mu       sync.Mutex
	taken    int
	released bool
}

// To returns an answer to a caller, which takes nothing yet.
func (a *Answers) To(principal string, proven bool) *Answer {
	return &Answer{of: a, to: holderOf(principal, proven, eachAnswers, othersAnswers)}
}

// Fits has the answer take so many bytes in all, more or fewer than before, and reports whether there is room.
func (a *Answer) Fits(bytes int) bool {
	_, ok := a.change(bytes)
	return ok
}

// Take is Fits of an answer that is refused where there is no room. The error says when to come back.
func (a *Answer) Take(bytes int) error {
	own, ok := a.change(bytes)
	if ok {
		return nil
	}
	a.of.refused("answers")
	whose := "all callers together"
	switch {
	case own && a.to.who == "":
		whose = "all callers who do not prove who they are"
	case own:
		whose = "you"
	}
	return limited{answerPause, fmt.Sprintf("the answers that are being made for %s, or wait to be read, fill %d MiB "+
		"of memory", whose, a.most(own)>>20)}
}

// Owe has the answer take so many bytes whether there is room or not.
func (a *Answer) Owe(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.released {
		a.of.shares.change(holder{a.to.who, math.MaxInt}, a.taken, bytes, math.MaxInt)
		a.taken = bytes
	}
}

func (a *Answer) most(own bool) int {
	if own {
		return a.to.most
	}
	return allAnswers
}

func (a *Answer) change(bytes int) (own, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.released {
		return false, true
	}
	if own, ok = a.of.shares.change(a.to, a.taken, bytes, allAnswers); ok {
		a.taken = bytes
	}
	return own, ok
}

// Taken is how many bytes the answer takes.
func (a *Answer) Taken() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.taken
}

// Release gives everything back, for good.
func (a *Answer) Release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.released {
		a.of.shares.change(a.to, a.taken, 0, allAnswers)
		a.taken, a.released = 0, true
	}
}
