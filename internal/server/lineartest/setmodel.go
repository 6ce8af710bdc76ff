// SPDX-License-Identifier: Apache-2.0

package lineartest

import (
	"fmt"
	"maps"

	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc/codes"
)

// blocks is how many ledgers a game of sets has.
const blocks = 4

// members are the ledgers of a set, or those that refuse it: a bit for each.
type members uint8

func (m members) has(i int) bool { return m>>i&1 == 1 }

// setCall is a call about one or several of the ledgers, or what a query asks of one of them.
type setCall struct {
	action string // charge, check, reserve, commit, release, get, query
	of     members
	alone  bool // by the call about one ledger, which is in no journal
	count  uint32
	held   held // what is committed or released
	key    string
}

// held is what a set has reserved.
type held struct {
	journal  string
	position uint64
	of       members
	at       [blocks]uint64 // the reservations' positions in the members
}

// setAnswer is what came back.
type setAnswer struct {
	code     codes.Code
	receipt  held
	refused  members // whom a refusal of a set names
	replayed bool
	retried  bool
	state    answer // of get and query
}

// shelf is several dumb ledgers and their journals. It is never changed in place.
type shelf struct {
	books    [blocks]book
	journals map[string]uint64 // positions
	written  map[string]held   // receipts, by key
}

// step says whether the ledgers may give this answer now, and what they are afterwards.
func (s shelf) step(c setCall, a setAnswer) (bool, shelf) {
	if first, ok := s.written[c.key]; ok && c.key != "" {
		return a.code == codes.OK && a.replayed && a.receipt == first, s
	}
	next := shelf{books: s.books, journals: maps.Clone(s.journals), written: maps.Clone(s.written)}
	if next.journals == nil {
		next.journals, next.written = map[string]uint64{}, map[string]held{}
	}
	var refused members
	for i := range blocks {
		if !c.of.has(i) {
			continue
		}
		part := call{action: c.action, count: c.count, reservation: c.held.at[i], writer: c.key}
		switch c.action {
		case "query": // which answers of a position, and so of a state
			return a.code == codes.OK && a.state.position == s.books[i].position, s
		case "get":
			ok, _ := s.books[i].step(part, a.state)
			return ok, s
		}
		no, _ := s.books[i].step(part, answer{code: part.refusal()})
		if no {
			refused |= 1 << i
			continue
		}
		var ok bool
		if ok, next.books[i] = s.books[i].step(part, answer{position: a.receipt.at[i]}); !ok && a.code == codes.OK {
			return false, s
		}
	}
	switch {
	case refused != 0:
		return refuses(a.code, c.action) && (c.alone || a.refused == refused), s
	case a.code != codes.OK:
		return false, s
	case c.action == "check":
		return a.receipt == held{}, s
	}
	if !c.alone {
		next.journals[a.receipt.journal]++
	}
	next.written[c.key] = a.receipt
	ok := a.receipt.of == c.of && a.receipt.position == next.journals[a.receipt.journal] && (a.retried || !a.replayed)
	return ok, next
}

// refusal is the code with which a ledger refuses this call, if it does.
func (c call) refusal() codes.Code {
	if c.action == "commit" || c.action == "release" {
		return codes.FailedPrecondition
	}
	return codes.ResourceExhausted
}

// refuses reports whether a call that is refused may have this code.
func refuses(code codes.Code, action string) bool {
	want := call{action: action}.refusal()
	return code == want || want == codes.FailedPrecondition && code == codes.NotFound
}

var setModel = porcupine.Model{
	Init: func() any { return shelf{} },
	Step: func(state, input, output any) (bool, any) {
		ok, next := state.(shelf).step(input.(setCall), output.(setAnswer))
		return ok, next
	},
	// As of model: receipts have positions of their own.
	Equal:             func(a, b any) bool { return maps.Equal(a.(shelf).written, b.(shelf).written) },
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}
