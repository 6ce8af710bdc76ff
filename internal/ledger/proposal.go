package ledger

import (
	"fmt"
	"math"
)

// Check returns nil if the proposal follows from the ledger's state on, whose
// head it expects: positions without a gap, nothing after a closing, and totals
// that grow by exactly what the entries charge. before holds, for each of Counts,
// that mechanism's total now, 0 for a new one. Batch makes no other proposals; a
// store checks them all the same, before anything is written.
func (p Proposal) Check(on Summary, before []uint64) error {
	if len(p.Entries) == 0 {
		return p.wrong("entries", 0, "at least 1")
	}
	if on.Closed {
		return p.wrong("entries", len(p.Entries), "0, the ledger is closed")
	}
	total := on.Total
	for i, e := range p.Entries {
		if want := on.Head.Position + 1 + uint64(i); e.Position != want {
			return p.wrong(fmt.Sprintf("entries[%d].position", i), e.Position, want)
		}
		switch v := e.Verb.(type) {
		case Charge:
			for _, event := range v.Events {
				if total > math.MaxInt64-uint64(event.Count) {
					return p.wrong("total", "more than 2^63 − 1", "at most 2^63 − 1")
				}
				total += uint64(event.Count)
			}
		case Close:
			if i != len(p.Entries)-1 {
				return p.wrong(fmt.Sprintf("entries[%d]", i), "a closing", "a closing as the last entry only")
			}
		}
	}
	if p.Total != total {
		return p.wrong("total", p.Total, total)
	}
	if _, closing := p.Entries[len(p.Entries)-1].Verb.(Close); p.Closed != closing {
		return p.wrong("closed", p.Closed, closing)
	}
	return p.checkCounts(on, before)
}

func (p Proposal) checkCounts(on Summary, before []uint64) error {
	next, added := on.Distinct, uint64(0)
	for i, c := range p.Counts {
		field := fmt.Sprintf("counts[%d]", i)
		switch {
		case c.Index < 0 || c.Index >= on.Distinct && c.Index != next:
			return p.wrong(field+".index", c.Index, fmt.Sprintf("below %d, or %d for the next new one", on.Distinct, next))
		case c.Mechanism == nil:
			return p.wrong(field+".mechanism", "missing", "a mechanism")
		case c.Total <= before[i] || c.Total > p.Total:
			return p.wrong(field+".total", c.Total, fmt.Sprintf("more than %d, at most %d", before[i], p.Total))
		}
		if c.Index == next {
			next++
		}
		if added += c.Total - before[i]; added > p.Total { // both below 2^63: no wrapping
			break
		}
	}
	if grown := p.Total - on.Total; added != grown {
		return p.wrong("counts", "not what the entries charge", fmt.Sprintf("%d more altogether", grown))
	}
	return nil
}

func (p Proposal) wrong(field string, value, allowed any) error {
	return fmt.Errorf("proposal for ledger %s: %s: %v; allowed: %v", p.Ledger, field, value, allowed)
}
