// SPDX-License-Identifier: Apache-2.0

package fleetmodel

import "fmt"

// explorer makes the steps that are possible in a state.
type explorer struct {
	rules  Rules
	world  World
	naming bool // whether steps are given names
	emit   func(name string, next state)
}

func (x *explorer) name(format string, args ...any) string {
	if !x.naming {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// step emits the state that change makes of s.
func (x *explorer) step(s *state, name string, change func(*state)) {
	next := *s
	change(&next)
	next.broken = next.check(x.world.Budget)
	x.emit(name, next)
}

func (x *explorer) steps(s *state) {
	x.environment(s)
	for d := range uint8(daemons) {
		x.clients(s, d)
		x.daemon(s, d)
		x.backend(s, d)
		x.orphan(s, d)
	}
	if x.world.Asked {
		x.question(s)
	}
}

// environment is what nobody asks for.
func (x *explorer) environment(s *state) {
	if !s.promoted && s.flushed < s.written {
		x.step(s, "standby flushes", func(n *state) { n.flushed++ })
	}
	if s.reported < s.flushed && !s.dead && !s.async {
		x.step(s, "standby reports", func(n *state) { n.reported = n.flushed })
	}
	if !s.promoted {
		x.step(s, "promote", func(n *state) {
			n.promoted = true
			n.recover(second, n.flushed)
			n.fences[second] = n.fences[first]
			if !x.world.Zombie {
				n.dead = true
				n.disconnect()
			}
		})
	}
	for server := range uint8(2) { // a merge locks no head, and waits for nothing
		if seen := uint8(s.visible[server].len()); s.merges > 0 && s.accepts(server) && s.merged[server] < seen {
			x.step(s, x.name("a daemon merges on server %d", server), func(n *state) {
				n.merges--
				if n.merged[server] = seen; server == first {
					n.write(merge + seen)
				}
			})
		}
	}
	if s.restarts > 0 && !s.dead {
		x.step(s, "primary restarts", func(n *state) {
			n.restarts--
			n.recover(first, n.written)
			n.disconnect()
		})
	}
}

// disconnect ends every session of the first server.
func (s *state) disconnect() {
	for d := range s.daemons {
		if o := &s.orphans[d]; o.server == first {
			s.ends(*o, o.phase == waiting && !s.dead)
			*o = session{}
		}
		if a := &s.daemons[d]; a.session.phase != none && a.session.server == first {
			a.lose()
		}
	}
	if s.question.server == first {
		s.question.lose()
	}
}

// lose takes the daemon's session away.
func (d *daemon) lose() {
	if d.session.open() {
		d.task = resolve
	}
	d.session, d.here = session{}, false
}

func (q *question) lose() {
	q.connected = none
	if q.stage == covering {
		q.stage = asked
	}
}

// ends notes that a transaction has ended, visible or not.
func (s *state) ends(o session, visible bool) {
	if visible && o.denied && o.server == s.serving() {
		s.broken = NotWritten
	}
}

// clients send their charges, and send them again.
func (x *explorer) clients(s *state, d uint8) {
	if s.daemons[d].task != rest {
		return
	}
	for c := range uint8(x.world.Clients) {
		if s.attempts[c] > 0 {
			x.step(s, x.name("client %d sends to %d", c+1, d), func(n *state) {
				n.attempts[c]--
				n.daemons[d].task, n.daemons[d].client = decide, c+1
			})
		}
	}
}

// acknowledge gives the client its receipt.
func (s *state) acknowledge(d *daemon) {
	s.acknowledged |= 1 << d.client
	s.proves(d, d.session.server, d.known)
	d.task, d.client = rest, 0
}

// daemon makes the steps that a daemon decides on.
func (x *explorer) daemon(s *state, d uint8) {
	a := s.daemons[d]
	if s.kills > 0 && (a.task != rest || a.session.phase != none || a.known != 0) && x.roomFor(s, d) {
		x.step(s, x.name("daemon %d is killed", d), func(n *state) {
			n.kills--
			n.orphan(d)
			n.daemons[d] = daemon{sure: true}
			if n.question.daemon == d {
				n.question.lose()
			}
		})
	}
	if a.task == rest {
		return
	}
	switch a.session.phase {
	case none:
		x.connect(s, d)
	case fresh:
		x.step(s, x.name("daemon %d begins the barrier", d), func(n *state) { n.mark(&n.daemons[d].session, marking) })
	case locked:
		x.step(s, x.name("daemon %d sends COMMIT", d), func(n *state) { n.daemons[d].session.phase = sent })
	case idle:
		x.work(s, d)
	}
}

func (x *explorer) connect(s *state, d uint8) {
	for server := range uint8(2) {
		if s.accepts(server) {
			x.step(s, x.name("daemon %d connects to server %d", d, server), func(n *state) {
				n.daemons[d].session = session{phase: idle, server: server}
				if x.rules.Barrier {
					n.daemons[d].session.phase = fresh
				}
			})
		}
	}
}

// look reads the head in the daemon's session.
func (s *state) look(a *daemon) {
	head := s.visible[a.session.server]
	a.sure = a.sure && head == a.known
	a.known, a.fences, a.here = head, s.fences[a.session.server], true
}

// mark begins a synchronous write.
func (s *state) mark(a *session, p phase) {
	a.phase, a.at = p, s.written
	if a.server == second {
		a.phase = idle
		return
	}
	s.write(mark)
}

func (s *state) write(record uint8) {
	if s.written == walMax {
		panic("fleetmodel: the log is too short for these bounds")
	}
	s.wal[s.written] = record
	s.written++
}

// work does the next thing for the daemon's client, in an idle session.
func (x *explorer) work(s *state, d uint8) {
	a := s.daemons[d]
	server := a.session.server
	if x.rules.Tell && s.silent(&a, server) {
		x.tell(s, d)
		return
	}
	if s.visible[server] != a.known || !a.here {
		if a.task == decide {
			x.step(s, x.name("daemon %d reads the head", d), func(n *state) { n.look(&n.daemons[d]) })
		}
	}
	switch a.task {
	case decide:
		x.decide(s, d)
	case resolve:
		if !x.rules.Fence || s.free(server) {
			x.step(s, x.name("daemon %d resolves", d), func(n *state) { x.resolve(n, d) })
		}
	case coverDecided, coverResolved, coverDenied:
		x.cover(s, d)
	}
}

// tell has the ledger say on the promoted server that entries of it are lost.
func (x *explorer) tell(s *state, d uint8) {
	if s.free(second) {
		x.step(s, x.name("daemon %d writes what is lost", d), func(n *state) { n.admits = true })
	}
}

func (x *explorer) decide(s *state, d uint8) {
	a := s.daemons[d]
	server := a.session.server
	switch {
	case a.known.has(a.client) && (a.sure || !x.rules.CoverDuplicate):
		x.step(s, x.name("daemon %d acknowledges a duplicate", d), func(n *state) { n.acknowledge(&n.daemons[d]) })
	case a.known.has(a.client):
		x.step(s, x.name("daemon %d finds a duplicate", d), func(n *state) { n.daemons[d].task = coverDecided })
	case a.known.len() >= x.world.Budget, s.admits && server == second:
		x.step(s, x.name("daemon %d refuses", d), func(n *state) { n.daemons[d].task = rest })
	case !x.rules.Locked:
		x.step(s, x.name("daemon %d sends all of a commit", d), func(n *state) {
			e := &n.daemons[d].session
			e.phase, e.client, e.base, e.fences = together, a.client, a.known, a.fences
		})
	case s.free(server):
		x.step(s, x.name("daemon %d locks the head", d), func(n *state) {
			b := &n.daemons[d]
			if x.rules.Compare && n.visible[server] != b.known {
				n.look(b)
				return
			}
			b.session.phase, b.session.client, b.session.base = locked, b.client, b.known
		})
	}
}

// resolve finds out what became of a commit.
func (x *explorer) resolve(s *state, d uint8) {
	a := &s.daemons[d]
	s.look(a)
	found := a.known.has(a.client)
	if !x.rules.Entries && a.known.first(s.merged[a.session.server]).has(a.client) {
		found = false
	}
	if x.rules.FenceWrites {
		s.fences[a.session.server]++
		a.fences = s.fences[a.session.server]
		s.mark(&a.session, fencing)
		a.task = coverDenied
		if found {
			a.task = coverResolved
		}
		if a.session.phase == idle { // on the new server
			s.covered(a)
		}
		return
	}
	switch {
	case found && x.rules.CoverResolved:
		a.task = coverResolved
	case found:
		s.acknowledge(a)
	case x.rules.CoverDenied:
		a.task = coverDenied
	default:
		s.deny(d)
	}
}

// deny tells the client that its charge was not written.
func (s *state) deny(d uint8) {
	a := &s.daemons[d]
	if o := &s.orphans[d]; o.phase != none && o.client == a.client {
		o.denied = true
	}
	if a.known.has(a.client) { // it has only not been found there
		s.broken = NotWritten
	}
	a.task, a.client = rest, 0
}

// cover begins the synchronous write after a read.
func (x *explorer) cover(s *state, d uint8) {
	a := s.daemons[d]
	if x.rules.SameSession && !a.here || x.rules.FenceWrites && a.task != coverDecided { // read again
		x.step(s, x.name("daemon %d starts over", d), func(n *state) {
			n.daemons[d].task = resolve
			if a.task == coverDecided {
				n.daemons[d].task = decide
				n.look(&n.daemons[d])
			}
		})
		return
	}
	x.step(s, x.name("daemon %d begins a synchronous write", d), func(n *state) {
		b := &n.daemons[d]
		n.mark(&b.session, marking)
		if b.session.phase == idle {
			n.covered(b)
		}
	})
}

// covered notes that a synchronous write after the last read has ended.
func (s *state) covered(a *daemon) {
	switch a.task {
	case coverDecided, coverResolved:
		a.sure = true
		s.acknowledge(a)
	case coverDenied:
		for d := range s.daemons {
			if &s.daemons[d] == a {
				s.deny(uint8(d))
			}
		}
	}
}
