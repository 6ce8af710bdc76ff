package num

// Interrupt ends a computation from within, wherever it is: every loop that can take long
// says what it spends, and once the time is over the computation is given up, back to the
// nearest Try. Nothing of what was given up is used, so that no bound is made of a sum
// that lacks some of its terms. A nil *Interrupt never ends anything. It is not for
// concurrent use.
type Interrupt struct {
	stop func() bool
	left int
	over bool // stop has said so
}

// asking is the work between two questions whether to stop, in about nanoseconds: what is
// shorter is done however little time there is.
const asking = 1_000_000

// interruption is what unwinds the stack; only the Try of the same Interrupt takes it.
type interruption struct{ by *Interrupt }

// NewInterrupt asks stop; nil for nil.
func NewInterrupt(stop func() bool) *Interrupt {
	if stop == nil {
		return nil
	}
	return &Interrupt{stop: stop, left: asking}
}

// Ask has another stop, which may be nil, be asked from here on.
func (i *Interrupt) Ask(stop func() bool) { i.stop, i.left, i.over = stop, asking, false }

// Stopped asks whether the time is over.
func (i *Interrupt) Stopped() bool {
	if i == nil || i.stop == nil || !i.stop() {
		return false
	}
	i.over = true
	return true
}

// Over reports whether anybody was told that the time is over: what was computed may then
// lack something.
func (i *Interrupt) Over() bool { return i != nil && i.over }

// Spend says that work, in about nanoseconds, is done next. It does not return where the
// time is over.
func (i *Interrupt) Spend(work int) {
	if i != nil {
		if i.left -= work; i.left <= 0 {
			i.ask()
		}
	}
}

func (i *Interrupt) ask() {
	i.left = asking
	if i.Stopped() {
		i.left = asking / 16 // for what is still tried: it has had its time
		panic(interruption{i})
	}
}

// Try does f and reports whether it came to its end. What f has changed before it was
// given up must be of no use to anybody, or valid at every time.
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
