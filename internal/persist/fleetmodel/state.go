// SPDX-License-Identifier: Apache-2.0

package fleetmodel

// history is a ledger's entries in their order, two bits each; an entry is the number of the client
// whose charge it is. It stands for the head's hash, too: equal heads have equal histories.
type history uint8

func (h history) len() (n int) {
	for ; h != 0; h >>= 2 {
		n++
	}
	return n
}

// begins reports whether a later history begins with this one.
func (h history) begins(later history) bool { return later&(1<<(2*h.len())-1) == h }

func (h history) with(client uint8) history { return h | history(client)<<(2*h.len()) }

func (h history) clients() (s set) {
	for ; h != 0; h >>= 2 {
		s |= 1 << (h & 3)
	}
	return s
}

// first returns the oldest n entries.
func (h history) first(n uint8) history { return h & (1<<(2*n) - 1) }

func (h history) has(client uint8) bool { return h.clients()&(1<<client) != 0 }

// twice reports whether a client's charge is there more than once.
func (h history) twice() bool { return h.len() != h.clients().len() }

// set is a set of clients.
type set uint8

func (s set) len() (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

const (
	daemons = 2
	clients = 3
	walMax  = 9
)

// The servers.
const (
	first  = 0 // the primary at the beginning
	second = 1 // its standby, which may be promoted
)

// mark is a record of the log that belongs to no ledger, and merge with a number that of a merge of so many entries.
// Every other record is a client's number.
const (
	mark  = 9
	merge = 16
)

// phase is where a session is.
type phase uint8

const (
	none     phase = iota // not connected
	fresh                 // connected; the barrier is still to come
	idle                  //
	marking               // a synchronous write waits
	fencing               // the same, and the session holds the head's row
	locked                // a transaction has the head's row
	sent                  // COMMIT is on its way
	together              // lock, comparison and COMMIT are on their way
	waiting               // COMMIT waits for the standby
	done                  // COMMIT has succeeded, its answer is on its way
	warned                // COMMIT's wait was cancelled, the answer is on its way
	conflict              // another head was found, the answer is on its way
)

// session is a connection to a server, seen from there.
type session struct {
	phase  phase
	server uint8
	client uint8   // whose charge the transaction makes
	at     uint8   // where its record is in the log
	base   history // what it was decided on
	fences uint8   // how many fences it has seen
	denied bool    // of a session that was cut: somebody was told that nothing was written
}

// locks reports whether the session holds the lock of the head's row.
func (s session) locks() bool {
	return s.phase == locked || s.phase == sent || s.phase == waiting || s.phase == fencing
}

// open reports whether the daemon does not know what becomes of the session's transaction.
func (s session) open() bool {
	return s.phase == sent || s.phase == together || s.phase == waiting || s.phase == done || s.phase == warned
}

// task is what a daemon does for a client.
type task uint8

const (
	rest          task = iota
	decide             // what the charge is: new, a duplicate, or more than the budget allows
	resolve            // an unknown outcome
	coverDecided       // synchronous write, then acknowledge a duplicate
	coverResolved      // synchronous write, then acknowledge what resolve has found
	coverDenied        // synchronous write, then say that nothing was written
)

type daemon struct {
	session session
	task    task
	client  uint8
	known   history // the newest head that it has read or written
	fences  uint8   // read with it
	sure    bool    // the standby has known
	here    bool    // known was read in this session
	proof   history // the newest that it has acknowledged or shown; only where the standby is asynchronous
}

type question struct {
	connected phase // none, marking (the barrier), idle
	stage     stage
	at        uint8 // where its synchronous write is in the log
	server    uint8
	daemon    uint8
	before    set     // acknowledged when it was asked
	head      history // that was read
}

type stage uint8

const (
	unasked stage = iota
	asked
	read
	covering
	answered
)

// state is one state of everything.
type state struct {
	wal      [walMax]uint8 // of the first server
	written  uint8         // how many records it has
	flushed  uint8         // how many the standby has
	reported uint8         // of how many the primary knows that
	promoted bool
	dead     bool // the first server
	visible  [2]history
	merged   [2]uint8 // of how many entries the rows were merged
	fences   [2]uint8

	daemons  [daemons]daemon
	orphans  [daemons]session // sessions that were cut, of which a transaction may be left
	attempts [clients]uint8   // that are left
	question question

	async  bool // commits do not wait
	admits bool // the ledger says on the second server that entries are lost, and takes no more

	acknowledged set // clients with a receipt
	shown        set // clients whose charge was in an answer

	cuts, cancels, restarts, kills, merges uint8 // that are left
	broken                                 Promise
}

// Promise is what must not be broken.
type Promise uint8

const (
	Kept       Promise = iota
	Durable            // what was acknowledged is on the server that serves
	Once               // nothing is charged twice
	Complete           // an answer has all that was acknowledged before the question
	InBudget           // no more is charged, or acknowledged, than the budget allows
	NotWritten         // what was said not to be written is never written
	Shown              // what an answer has shown is on the server that serves
	Told               // who knows of an entry that the server lacks goes on only when the ledger says so
)

var promises = [...]string{"kept", "Durable", "Once", "Complete", "InBudget", "NotWritten", "Shown", "Told"}

func (p Promise) String() string { return promises[p] }

// serving is the server whose log counts.
func (s *state) serving() uint8 {
	if s.promoted {
		return second
	}
	return first
}

// accepts reports whether a server takes connections.
func (s *state) accepts(server uint8) bool {
	if server == first {
		return !s.dead
	}
	return s.promoted
}

// waited reports whether a write that is in the log at a place may be acknowledged.
func (s *state) waited(at uint8) bool { return s.async || s.reported > at }

// proves notes what a daemon has acknowledged or shown, and whether it should have said before what is lost.
func (s *state) proves(a *daemon, server uint8, h history) {
	switch {
	case !s.async:
	case s.silent(a, server):
		s.broken = Told
	case s.admits || a.proof.len() <= h.len():
		a.proof = h
	}
}

// silent reports whether a server lacks what a daemon knows, and does not say so.
func (s *state) silent(a *daemon, server uint8) bool {
	return server == second && !s.admits && !a.proof.begins(s.visible[second])
}

// free reports whether nobody holds the lock of the head's row.
func (s *state) free(server uint8) bool {
	for d := range s.daemons {
		if a := s.daemons[d].session; a.locks() && a.server == server {
			return false
		}
		if o := s.orphans[d]; o.locks() && o.server == server {
			return false
		}
	}
	return true
}

// history returns the entries in the first n records of the log.
func (s *state) history(n uint8) (h history) {
	for _, r := range s.wal[:n] {
		if r < mark {
			h = h.with(r)
		}
	}
	return h
}

// recover lets a server show what the first n records of the log have made.
func (s *state) recover(server, n uint8) {
	s.visible[server], s.merged[server] = s.history(n), 0
	for _, r := range s.wal[:n] {
		if r >= merge {
			s.merged[server] = r - merge
		}
	}
}

// check says which promise is broken.
func (s *state) check(budget int) Promise {
	head := s.visible[s.serving()]
	switch {
	case s.broken != Kept:
		return s.broken
	case head.twice():
		return Once
	case s.async:
		return Kept
	case s.promoted && s.acknowledged&^head.clients() != 0:
		return Durable
	case s.promoted && s.shown&^head.clients() != 0:
		return Shown
	case head.len() > budget || s.acknowledged.len() > budget:
		return InBudget
	}
	return Kept
}
