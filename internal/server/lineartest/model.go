// SPDX-License-Identifier: Apache-2.0

// Package lineartest plays concurrent clients against the budget of one ledger of
// a running service, lets them retry what failed, and checks with porcupine that
// all of it is linearizable: there is an order of the calls, each between its
// beginning and its end, in which a dumb ledger gives every answer that was given.
// So no interleaving charges twice, loses what was acknowledged or overruns the
// budget.
package lineartest

import (
	"fmt"
	"maps"

	"github.com/anishathalye/porcupine"
	"google.golang.org/grpc/codes"
)

// call is one call of the API; or an expiry, which is the daemon's own.
type call struct {
	action      string // charge, check, reserve, commit, release, expire, get
	count       uint32 // of coins
	reservation uint64
	brief       bool // a reservation that expires during the game
	writer      string
	sequence    uint64
}

// key is what makes a retry the same call.
func (c call) key() string { return fmt.Sprintf("%s %d", c.writer, c.sequence) }

// answer is what came back.
type answer struct {
	code     codes.Code
	position uint64 // of the receipt; of the ledger for get
	replayed bool
	retried  bool   // it took more than one try: an earlier one may have been taken
	spent    uint64 // of get
	reserved uint64
}

// capacity is how many coins fit into the budget.
const capacity = 40

// book is the dumb ledger. It is never changed in place.
type book struct {
	position, spent uint64
	open            map[uint64]uint64 // what is left of reservations
	written         map[string]uint64 // positions, by key
}

func (b book) reserved() (n uint64) {
	for _, left := range b.open {
		n += left
	}
	return n
}

// step says whether the ledger may give this answer now, and what it is afterwards.
func (b book) step(c call, a answer) (bool, book) {
	if c.action == "get" {
		return a.code == codes.OK && a.position == b.position && a.spent == b.spent && a.reserved == b.reserved(), b
	}
	if first, ok := b.written[c.key()]; ok {
		return a.code == codes.OK && a.replayed && a.position == first, b
	}
	n := uint64(c.count)
	left, open := b.open[c.reservation]
	switch c.action {
	case "charge", "check", "reserve":
		if b.spent+b.reserved()+n > capacity {
			return a.code == codes.ResourceExhausted, b
		}
	case "commit", "release":
		if !open || left < n {
			return a.code == codes.FailedPrecondition || a.code == codes.NotFound, b
		}
	case "expire":
		if !open {
			return false, b
		}
		n = left
	}
	if c.action == "check" {
		return a.code == codes.OK && a.position == 0, b
	}
	next := b.with(c, n)
	return a.code == codes.OK && a.position == next.position && (a.retried || !a.replayed), next
}

// with is the book after an accepted call.
func (b book) with(c call, n uint64) book {
	next := book{position: b.position + 1, spent: b.spent, open: maps.Clone(b.open), written: maps.Clone(b.written)}
	if next.open == nil {
		next.open, next.written = map[uint64]uint64{}, map[string]uint64{}
	}
	next.written[c.key()] = next.position
	switch c.action {
	case "charge":
		next.spent += n
	case "reserve":
		next.open[next.position] = n
	case "commit", "expire":
		next.spent += n
		if next.open[c.reservation] -= n; next.open[c.reservation] == 0 {
			delete(next.open, c.reservation)
		}
	case "release":
		delete(next.open, c.reservation)
	}
	return next
}

var model = porcupine.Model{
	Init: func() any { return book{} },
	Step: func(state, input, output any) (bool, any) {
		ok, next := state.(book).step(input.(call), output.(answer))
		return ok, next
	},
	// Every accepted call has a position of its own, so books at one position that
	// hold the same calls are the same.
	Equal: func(a, b any) bool {
		x, y := a.(book), b.(book)
		return x.position == y.position && maps.Equal(x.written, y.written)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}
