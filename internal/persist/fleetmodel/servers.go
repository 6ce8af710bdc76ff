// SPDX-License-Identifier: Apache-2.0

package fleetmodel

// backend makes the steps of a daemon's session that the servers and the network decide on.
func (x *explorer) backend(s *state, d uint8) {
	a := s.daemons[d]
	e := a.session
	name := func(what string) string { return x.name("daemon %d: %s", d, what) }
	if s.cuts > 0 && e.phase != none && x.roomFor(s, d) {
		x.step(s, name("connection is cut"), func(n *state) {
			n.cuts--
			n.orphan(d)
			n.daemons[d].lose()
		})
	}
	switch e.phase {
	case sent, together:
		x.arrives(s, name("COMMIT arrives"), e, func(n *state) *session { return &n.daemons[d].session })
	case waiting:
		if s.waited(e.at) {
			x.step(s, name("wait ends"), func(n *state) { n.commit(&n.daemons[d].session, done) })
		}
		if s.cancels > 0 {
			x.step(s, name("wait is cancelled"), func(n *state) {
				n.cancels--
				n.commit(&n.daemons[d].session, warned)
			})
			x.step(s, name("backend is terminated in its wait"), func(n *state) {
				n.cancels--
				n.commit(&n.daemons[d].session, warned)
				n.daemons[d].lose()
			})
		}
	case marking, fencing:
		if s.waited(e.at) {
			x.step(s, name("synchronous write ends"), func(n *state) { x.marked(n, d) })
		}
		if s.cancels > 0 {
			x.step(s, name("synchronous write is cancelled"), func(n *state) {
				n.cancels--
				if !x.rules.Warning {
					x.marked(n, d)
					return
				}
				n.daemons[d].session = session{phase: idle, server: e.server}
				if e.phase == marking && a.task < coverDecided {
					n.daemons[d].session.phase = fresh
				}
			})
		}
	case done:
		x.step(s, name("is told of its commit"), func(n *state) { n.told(d, true) })
	case warned:
		x.step(s, name("is told of its commit, with a warning"), func(n *state) {
			if !x.rules.Warning {
				n.told(d, true)
				return
			}
			b := &n.daemons[d]
			b.session, b.task = session{phase: idle, server: e.server}, resolve
		})
	case conflict:
		x.step(s, name("is told of a conflict"), func(n *state) {
			b := &n.daemons[d]
			b.session = session{phase: idle, server: e.server}
			n.look(b)
		})
	}
}

// marked ends a synchronous write of a daemon.
func (x *explorer) marked(s *state, d uint8) {
	a := &s.daemons[d]
	a.session = session{phase: idle, server: a.session.server}
	s.covered(a)
}

// told acknowledges a commit, whose head is then the newest that the daemon knows.
func (s *state) told(d uint8, sure bool) {
	a := &s.daemons[d]
	a.known, a.sure, a.here = a.session.base.with(a.client), sure, true
	a.session = session{phase: idle, server: a.session.server}
	s.acknowledge(a)
}

// arrives lets a COMMIT reach its server.
func (x *explorer) arrives(s *state, name string, e session, in func(*state) *session) {
	if e.phase == together && !s.free(e.server) {
		return
	}
	x.step(s, name, func(n *state) {
		a := in(n)
		if e.phase == together && x.rules.Compare &&
			(n.visible[e.server] != e.base || x.rules.FenceWrites && n.fences[e.server] != e.fences) {
			a.phase = conflict
			return
		}
		if e.server == second {
			n.commit(a, done)
			return
		}
		a.phase, a.at = waiting, n.written
		n.write(e.client)
	})
}

// commit makes a session's transaction visible.
func (s *state) commit(a *session, p phase) {
	a.phase = p
	if h := s.visible[a.server]; h.len() < 4 {
		a.base = h
		s.visible[a.server] = h.with(a.client)
	}
	s.ends(*a, true)
}

// roomFor reports whether the daemon's session can be cut: one cut session of a daemon is followed at
// a time.
func (x *explorer) roomFor(s *state, d uint8) bool {
	p := s.daemons[d].session.phase
	return p != sent && p != together && p != waiting || s.orphans[d].phase == none
}

// orphan leaves what the server still has of the daemon's session.
func (s *state) orphan(d uint8) {
	switch e := s.daemons[d].session; e.phase {
	case sent, together, waiting:
		s.orphans[d] = e
	}
}

// orphan makes the steps of a session that was cut.
func (x *explorer) orphan(s *state, d uint8) {
	o := s.orphans[d]
	name := func(what string) string { return x.name("cut session of %d: %s", d, what) }
	in := func(n *state) *session { return &n.orphans[d] }
	switch o.phase {
	case sent, together:
		x.step(s, name("COMMIT is lost"), func(n *state) { n.orphans[d] = session{} })
		x.arrives(s, name("COMMIT arrives"), o, in)
	case waiting:
		if s.waited(o.at) {
			x.step(s, name("wait ends"), func(n *state) { n.commit(in(n), done) })
		}
		if s.cancels > 0 {
			x.step(s, name("wait is cancelled"), func(n *state) {
				n.cancels--
				n.commit(in(n), warned)
			})
		}
	case done, warned, conflict:
		x.step(s, name("ends"), func(n *state) { n.orphans[d] = session{} })
	}
}
