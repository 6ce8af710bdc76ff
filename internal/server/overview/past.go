package overview

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// point is where a ledger stood after one of its entries. It never changes.
type point struct {
	position       uint64
	time           time.Time
	spent, epsilon float64
	guarantee      string
	used, held     []float64
}

const (
	// mostPoints is about how many points of a ledger are kept: from half to all of it. A ledger with many
	// distinct mechanisms, whose ε take longer, has fewer.
	mostPoints     = 800
	manyDistinct   = 500
	fewPoints      = 100
	bytesOfAPoint  = 250
	bytesOfNothing = 2000
)

// reader goes through a ledger once and finds points, by what it keeps of the points before.
type reader struct {
	walk    *history.Walk
	delta   float64
	gap     *float64
	spent   accountant.Session // about what was charged
	stated  accountant.Session // about what is stated
	planned *accountant.Answer // about the plan
	raised  ledger.Resolution  // of which planned is
}

func newReader(g ledger.Genesis, delta float64, gap *float64) *reader {
	return &reader{walk: history.NewWalk(g), delta: delta, gap: gap}
}

// to reads on to a position. If it ends early, because its time is over, it has read whole entries and goes on
// from there another time.
func (r *reader) to(log history.Log, position uint64, t *turns.Turn) error {
	name := r.walk.View().Genesis.Spec.Name
	stopped, err := history.Each(log, name, r.walk.Position(), position, t.Stop, r.walk.Take)
	if err == nil && stopped {
		err = r.late(position)
	}
	return err
}

func (r *reader) late(position uint64) error {
	return fmt.Errorf("%w: %d of %d entries were gone through: ask again, which goes on from there",
		accountant.ErrStopped, r.walk.Position(), position)
}

// point is where the ledger stands where it was read to.
func (r *reader) point(t *turns.Turn) (point, error) {
	p := point{time: r.walk.Time()}
	in := num.NewInterrupt(t.Stop)
	if !in.Try(func() { p.used, p.held = r.walk.Shares(in) }) {
		return p, r.late(r.walk.Position())
	}
	return r.complete(p, r.walk.View(), t)
}

// complete adds the numbers of a view to a point that has its time and its shares.
func (r *reader) complete(p point, v ledger.View, t *turns.Turn) (point, error) {
	sub, err := subject.Of(v)
	if err != nil {
		return p, err
	}
	p.position, p.guarantee = v.Head.Position, sub.Standing.Guarantee
	q := accountant.AtDelta(r.delta)
	q.MaxGap, q.Stop = r.gap, t.Stop
	spent, err := r.spent.Ask(sub.Charged, q)
	stated := spent
	switch {
	case err != nil:
	case p.guarantee == ledger.GuaranteePlan && r.planned != nil && r.raised.Equal(sub.View.Resolution):
		stated = *r.planned
	case !sub.Prefix():
		stated, err = sub.AskIn(&r.stated, q)
	}
	if err == nil && (spent.Stopped || stated.Stopped) { // with more time it would be tighter
		err = r.late(p.position)
	}
	if err != nil { // what the sessions keep may be half done
		r.spent, r.stated = accountant.Session{}, accountant.Session{}
		return p, err
	}
	if p.guarantee == ledger.GuaranteePlan {
		r.planned, r.raised = &stated, sub.View.Resolution
	}
	p.spent, p.epsilon = spent.Epsilon, stated.Epsilon
	return p, nil
}

// past is what is kept of a ledger at one δ: a reader, and the points at the multiples of stride that it has
// passed.
type past struct {
	reader *reader
	stride uint64
	points []point
	head   *point // the newest, if it is none of them

	catching atomic.Bool // somebody reads on already
}

// advance reads on to the head, and adds the points on the way.
func (p *past) advance(log history.Log, head uint64, t *turns.Turn) error {
	if p.points == nil {
		if err := p.add(t); err != nil { // the empty ledger
			return err
		}
	}
	most := uint64(mostPoints)
	for p.reader.walk.Position() < head || p.head != nil && p.head.position < head {
		if p.reader.walk.Distinct() > manyDistinct {
			most = fewPoints
		}
		if p.stride == 0 {
			p.stride = 1
		}
		for left := head / p.stride; left > most; left = head / p.stride {
			p.stride *= 2
			p.thin()
		}
		at := p.reader.walk.Position()
		next := min(head, (at/p.stride+1)*p.stride)
		if last := p.points[len(p.points)-1].position; at%p.stride == 0 && at != last {
			next = at // it was read to, and its point was not found in time
		}
		if err := p.reader.to(log, next, t); err != nil {
			return err
		}
		if next%p.stride != 0 {
			found, err := p.reader.point(t)
			if err != nil {
				return err
			}
			p.head = &found
			return nil
		}
		if err := p.add(t); err != nil {
			return err
		}
	}
	return nil
}

// near reports whether so little is new that the newest point says all that a reader would see. far reports whether
// there is enough to read on all the same.
func (p *past) near(head uint64) (near, far bool) {
	behind := head - min(head, p.reader.walk.Position())
	return len(p.points) > 0 && behind > 0 && behind <= head/100, behind > head/1000
}

// live makes the newest point of the ledger as it is, without reading what is new.
func (p *past) live(v ledger.View, at time.Time, t *turns.Turn) error {
	found := point{time: at}
	found.used, found.held = sharesOf(v)
	found, err := p.reader.complete(found, v, t)
	if err == nil {
		p.head = &found
	}
	return err
}

func (p *past) add(t *turns.Turn) error {
	found, err := p.reader.point(t)
	if err == nil {
		p.points, p.head = append(p.points, found), nil
	}
	return err
}

// thin leaves out the points that are at no multiple of the stride.
func (p *past) thin() {
	kept := p.points[:0]
	for _, x := range p.points {
		if x.position%p.stride == 0 {
			kept = append(kept, x)
		}
	}
	p.points = kept
}

// evenly returns about n points, of which the first and the newest always are.
func (p *past) evenly(n int) (list []point) {
	every := 1
	for (len(p.points)+every-1)/every >= n {
		every++
	}
	for i := 0; i < len(p.points); i += every {
		list = append(list, p.points[i])
	}
	newest := &p.points[len(p.points)-1]
	if p.head != nil {
		newest = p.head
	}
	if list[len(list)-1].position != newest.position {
		list = append(list, *newest)
	}
	return list
}

// Bytes is about what the past holds in memory.
func (p *past) Bytes() int {
	r := p.reader
	return bytesOfNothing + bytesOfAPoint*len(p.points) + r.walk.Bytes() + r.spent.Bytes() + r.stated.Bytes()
}

type pastKey struct {
	name       string
	delta, gap float64 // 0: none was given
}
