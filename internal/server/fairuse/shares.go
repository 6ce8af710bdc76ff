// SPDX-License-Identifier: Apache-2.0

package fairuse

import "sync"

// shares counts what callers have taken of something of which all have so much together, and each a part. The zero
// value has nothing taken.
type shares struct {
	mu    sync.Mutex
	taken int
	by    map[string]int // principals; "" is everybody who proves nothing
}

// holder is one caller's share.
type holder struct {
	who  string // "" is everybody who proves nothing
	most int
}

func holderOf(principal string, proven bool, each, others int) holder {
	if proven {
		return holder{principal, each}
	}
	return holder{"", others}
}

// change replaces what a holder has taken before, and reports whether that was possible: what is less always is, and
// so is what a caller takes who has nothing else, as it were refused for ever otherwise.
func (s *shares) change(h holder, before, after, all int) (own, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, everybody := s.by[h.who]-before, s.taken-before
	switch {
	case after <= before:
	case mine > 0 && mine+after > h.most:
		return true, false
	case everybody > 0 && everybody+after > all:
		return false, false
	}
	if s.by == nil {
		s.by = map[string]int{}
	}
	s.taken = everybody + after
	if s.by[h.who] = mine + after; s.by[h.who] == 0 {
		delete(s.by, h.who)
	}
	return false, true
}
