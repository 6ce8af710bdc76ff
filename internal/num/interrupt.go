// SPDX-License-Identifier: Apache-2.0

package num

// Interrupt ends a computation from inside, at any depth. Every loop that can take long calls
// Spend with its work; once the time is over, Spend unwinds the stack to the nearest Try.
// Nothing of an abandoned computation is used, so no bound is made from a sum that lacks some
// of its terms.
//
// A nil *Interrupt never ends anything, and neither does the zero value, which only counts. An
// Interrupt is not safe for concurrent use.
type Interrupt struct {
	stop  func() bool
	left  int
	spent int
	over  bool // stop has said so
	known map[any]any
}

// asking is the work, in about nanoseconds, between two calls of the stop function. Shorter
// computations are done even if no time is left.
const asking = 1_000_000

// interruption is the value of the panic that unwinds the stack. Only the Try of the same
// Interrupt recovers it.
type interruption struct{ by *Interrupt }

// NewInterrupt returns an Interrupt that asks stop whether the time is over. It returns nil if
// stop is nil.
func NewInterrupt(stop func() bool) *Interrupt {
	if stop == nil {
		return nil
	}
	return &Interrupt{stop: stop, left: asking}
}

// Stopped asks now whether the time is over.
func (i *Interrupt) Stopped() bool {
	if i == nil || i.stop == nil || !i.stop() {
		return false
	}
	i.over = true
	return true
}

// Over reports whether a caller was told that the time is over. What it computed may then be
// incomplete.
func (i *Interrupt) Over() bool { return i != nil && i.over }

// Spend announces work, in about nanoseconds, that is done next. It does not return if the time
// is over.
func (i *Interrupt) Spend(work int) {
	if i != nil {
		i.spent += work
		if i.left -= work; i.left <= 0 {
			i.ask()
		}
	}
}

// Spent is the sum of all work that was said to be done, in about nanoseconds. It is the same
// on every machine.
func (i *Interrupt) Spent() int {
	if i == nil {
		return 0
	}
	return i.spent
}

// Repeat announces work that somebody else has done before, so that it need not be done now: what
// a question declares does not depend on what was asked before it.
func (i *Interrupt) Repeat(work int) {
	for ; work > 0; work -= asking {
		i.Spend(min(work, asking))
	}
}

// Known is what Know has noted for this computation; false where there is nothing, and for nil.
func (i *Interrupt) Known(key any) (value any, ok bool) {
	if i != nil {
		value, ok = i.known[key]
	}
	return value, ok
}

// Know notes a result whose work has been announced, so that it is announced once.
func (i *Interrupt) Know(key, value any) {
	if i == nil {
		return
	}
	if i.known == nil {
		i.known = make(map[any]any)
	}
	i.known[key] = value
}

// Forget forgets what is known: the work of what comes next is told apart from what came before.
func (i *Interrupt) Forget() {
	if i != nil {
		i.known = nil
	}
}

func (i *Interrupt) ask() {
	i.left = asking
	if i.Stopped() {
		i.left = asking / 16 // for what is still tried: it has had its time
		panic(interruption{i})
	}
}

// Try calls f and reports whether f came to its end. What f changed before it was abandoned
// must be valid at every time, or of no use to anybody.
func (i *Interrupt) Try(f func()) (done bool) {
	if i == nil {
		f()
		return true
	}
	defer func() {
		if done {
			return
		}
		p := recover()
		if by, ok := p.(interruption); !ok || by.by != i {
			panic(p)
		}
	}()
	f()
	return true
}
