// SPDX-License-Identifier: Apache-2.0

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

// reader goes through a ledger once and finds points, by what it keeps of the points before. Its methods end early
// when the function stop says so.
type reader struct {
	log     history.Marked
	name    string
	walk    *history.Walk
	delta   float64
	gap     *float64
	spent   accountant.Session // about what was charged
	stated  accountant.Session // about what is stated
	planned *accountant.Answer // about the plan
	raised  ledger.Resolution  // of which planned is
	at      atomic.Uint64      // what was read, for those who ask meanwhile
}

func newReader(log history.Marked, g ledger.Genesis, delta float64, gap *float64) *reader {
	return &reader{log: log, name: g.Spec.Name, walk: history.NewWalk(g), delta: delta, gap: gap}
}

// to reads on to a position. If it ends early, because its time is over, it has read whole entries and goes on
// from there another time.
func (r *reader) to(position uint64, stop func() bool) error {
	if err := r.walk.Leap(r.log, position); err != nil {
		return err
	}
	stopped, err := history.Each(r.log, r.name, r.walk.Position(), position, stop, func(found []ledger.Record) error {
		err := r.walk.Take(found)
		r.at.Store(r.walk.Position())
		return err
	})
	r.at.Store(r.walk.Position())
	if err == nil && stopped {
		err = late(r.walk.Position(), position)
	}
	return err
}

// late says that the time was over when so many of the entries were read.
func late(read, of uint64) error {
	return fmt.Errorf("%w: %d of %d entries were gone through: ask again, which goes on from there",
		accountant.ErrStopped, read, of)
}

// point is where the ledger stands where it was read to.
func (r *reader) point(stop func() bool) (point, error) {
	p := point{time: r.walk.Time()}
	in := num.NewInterrupt(stop)
	if !in.Try(func() { p.used, p.held = r.walk.Shares(in) }) {
		return p, late(r.walk.Position(), r.walk.Position())
	}
	return r.complete(p, r.walk.View(), stop)
}

// complete adds the numbers of a view to a point that has its time and its shares.
func (r *reader) complete(p point, v ledger.View, stop func() bool) (point, error) {
	sub, err := subject.Of(v)
	if err != nil {
		return p, err
	}
	p.position, p.guarantee = v.Head.Position, sub.Standing.Guarantee
	q := accountant.AtDelta(r.delta)
	q.MaxGap, q.Stop = r.gap, stop
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
		err = late(r.walk.Position(), p.position)
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

// past is what is kept of a ledger at one δ: a reader, and the points that it has passed at the position from, and at
// those that follow it by multiples of stride.
type past struct {
	reader *reader
	from   uint64
	stride uint64
	points []point
	head   *point // the newest, if it is none of them
}

// advance reads on to the head, and adds the points on the way and that of the head.
func (p *past) advance(head uint64, stop func() bool) error {
	err := p.readOn(head, stop)
	if err != nil || p.newest().position >= head {
		return err
	}
	found, err := p.reader.point(stop)
	if err == nil {
		p.head = &found
	}
	return err
}

// readOn reads on to a position, and adds the points on the way.
func (p *past) readOn(to uint64, stop func() bool) error {
	to = max(to, p.from)
	if p.points == nil {
		p.stride = 1
		if err := p.reader.to(p.from, stop); err != nil {
			return err
		}
		if err := p.add(stop); err != nil {
			return err
		}
	}
	for {
		most := uint64(mostPoints)
		if p.reader.walk.Distinct() > manyDistinct {
			most = fewPoints
		}
		for (to-p.from)/p.stride > most {
			p.stride *= 2
			p.thin()
		}
		at := p.Position()
		if (at-p.from)%p.stride == 0 && at != p.points[len(p.points)-1].position {
			if err := p.add(stop); err != nil {
				return err
			}
		}
		if at >= to {
			return nil
		}
		if err := p.reader.to(min(to, p.from+((at-p.from)/p.stride+1)*p.stride), stop); err != nil {
			return err
		}
	}
}

// near reports whether so little is new that the newest point says all that a reader would see.
func (p *past) near(head uint64) bool {
	behind := head - min(head, p.Position())
	return len(p.points) > 0 && behind > 0 && behind <= head/100
}

// upTo has the newest point be that of the ledger's head, or of a later one.
func (p *past) upTo(log history.Log, v ledger.View, stop func() bool) error {
	if !p.near(v.Head.Position) {
		return p.advance(max(v.Head.Position, p.Position()), stop)
	}
	newest, err := log.Records(v.Genesis.Spec.Name, v.Head.Position, 1)
	if err != nil || len(newest) == 0 {
		return err
	}
	return p.live(v, newest[0].Entry.Time, stop)
}

// live makes the newest point of the ledger as it is, without reading what is new.
func (p *past) live(v ledger.View, at time.Time, stop func() bool) error {
	found := point{time: at}
	found.used, found.held = sharesOf(v)
	found, err := p.reader.complete(found, v, stop)
	if err == nil {
		p.head = &found
	}
	return err
}

func (p *past) add(stop func() bool) error {
	found, err := p.reader.point(stop)
	if err == nil {
		p.points, p.head = append(p.points, found), nil
	}
	return err
}

// thin leaves out the points that do not follow the first one by a multiple of the stride.
func (p *past) thin() {
	kept := p.points[:0]
	for _, x := range p.points {
		if (x.position-p.from)%p.stride == 0 {
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
	if newest := p.newest(); list[len(list)-1].position != newest.position {
		list = append(list, *newest)
	}
	return list
}

// newest is the newest point that is known, of which there is one.
func (p *past) newest() *point {
	if p.head != nil {
		return p.head
	}
	return &p.points[len(p.points)-1]
}

// Position is that of the newest entry that was read.
func (p *past) Position() uint64 { return p.reader.walk.Position() }

// Read is Position for those who do not have the past.
func (p *past) Read() uint64 { return p.reader.at.Load() }

// Bytes is about what the past holds in memory.
func (p *past) Bytes() int {
	r := p.reader
	return bytesOfNothing + bytesOfAPoint*len(p.points) + r.walk.Bytes() + r.spent.Bytes() + r.stated.Bytes()
}

// pastKey is a part of a ledger's history at one δ.
type pastKey struct {
	name       string
	delta, gap float64 // 0: none was given
	from, to   uint64
	open       bool // it ends with the newest entry, and to is 0
}

// wholePast is the whole history.
func wholePast(v ledger.View, delta float64, gap *float64) pastKey {
	key := pastKey{name: v.Genesis.Spec.Name, delta: delta, open: true}
	if gap != nil {
		key.gap = *gap
	}
	return key
}

// begin makes the past of a key, of which nothing is read yet.
func (k pastKey) begin(log history.Marked, g ledger.Genesis) *past {
	var gap *float64
	if k.gap > 0 {
		gap = &k.gap
	}
	return &past{reader: newReader(log, g, k.delta, gap), from: k.from}
}
