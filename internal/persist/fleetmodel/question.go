// SPDX-License-Identifier: Apache-2.0

package fleetmodel

// question makes the steps of one question about the ledger.
func (x *explorer) question(s *state) {
	q := s.question
	if q.stage == answered {
		return
	}
	if x.rules.Barrier {
		x.connectQuestion(s)
	}
	switch q.stage {
	case unasked:
		for d := range uint8(daemons) {
			x.step(s, x.name("question to %d", d), func(n *state) {
				n.question.stage, n.question.daemon, n.question.before = asked, d, n.acknowledged
			})
		}
	case asked:
		if !x.rules.Fresh {
			x.step(s, "answer from memory", func(n *state) { n.answer(n.daemons[q.daemon].known) })
			return
		}
		for server := range uint8(2) {
			if s.accepts(server) && x.rules.Tell && s.silent(&s.daemons[q.daemon], server) {
				x.tell(s, q.daemon)
				continue
			}
			if s.accepts(server) && (!x.rules.Barrier || q.connected == idle && q.server == server) {
				x.step(s, x.name("question reads the head from server %d", server), func(n *state) {
					n.question.head, n.question.server, n.question.stage = n.visible[server], server, read
				})
			}
		}
	case read:
		x.coverQuestion(s)
	case covering:
		if s.cuts > 0 {
			x.step(s, "question's connection is cut", func(n *state) {
				n.cuts--
				n.question.lose()
			})
		}
		if s.waited(q.at) {
			x.step(s, "question's synchronous write ends", func(n *state) { n.answer(q.head) })
		}
		if s.cancels > 0 {
			x.step(s, "question's synchronous write is cancelled", func(n *state) {
				n.cancels--
				if !x.rules.Warning {
					n.answer(q.head)
					return
				}
				n.question.stage = asked
			})
		}
	}
}

// connectQuestion lets the session of questions begin, at any time, with its barrier.
func (x *explorer) connectQuestion(s *state) {
	q := s.question
	switch q.connected {
	case none:
		for server := range uint8(2) {
			if s.accepts(server) {
				x.step(s, x.name("session for questions to server %d", server), func(n *state) {
					n.question.connected, n.question.server, n.question.at = marking, server, n.written
					if server == first {
						n.write(mark)
					}
				})
			}
		}
	case marking:
		if q.server == second || s.waited(q.at) {
			x.step(s, "session for questions: barrier ends", func(n *state) { n.question.connected = idle })
		}
	}
}

// coverQuestion begins the synchronous write after the question's read, or leaves it out.
func (x *explorer) coverQuestion(s *state) {
	q := s.question
	d := s.daemons[q.daemon]
	if spared := x.rules.SparedAnswer && d.sure && d.known == q.head; !x.rules.CoverAnswer || spared {
		x.step(s, "question is answered", func(n *state) { n.answer(q.head) })
		return
	}
	if x.rules.SameSession && !s.accepts(q.server) {
		x.step(s, "question's session is lost", func(n *state) { n.question.stage = asked })
		return
	}
	for server := range uint8(2) {
		if s.accepts(server) && (!x.rules.SameSession || server == q.server) {
			x.step(s, x.name("question's synchronous write to server %d", server), func(n *state) {
				if server == second {
					n.answer(q.head)
					return
				}
				n.question.stage, n.question.at = covering, n.written
				n.write(mark)
			})
		}
	}
}

// answer tells what a head has.
func (s *state) answer(h history) {
	q := &s.question
	if q.before&^h.clients() != 0 && !s.async {
		s.broken = Complete
	}
	s.proves(&s.daemons[q.daemon], q.server, h)
	s.shown |= h.clients()
	*q = question{stage: answered}
}
