// SPDX-License-Identifier: Apache-2.0

package gate

import "google.golang.org/grpc"

// Stream returns a stream whose first message decides whether the call may pass, and whose later
// ones pass as long as the policy allows that. entered is called once, with the passage, before
// the first message is given to the handler.
func (g *Gate) Stream(in grpc.ServerStream, method string, who Identity, entered func(*Passage)) grpc.ServerStream {
	return &stream{in, g, method, who, entered, nil}
}

type stream struct {
	grpc.ServerStream
	gate    *Gate
	method  string
	who     Identity
	entered func(*Passage)
	passage *Passage
}

// RecvMsg implements grpc.ServerStream.
func (s *stream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if s.passage != nil {
		return s.passage.Check()
	}
	p, err := s.gate.Enter(s.method, s.who, m)
	if err != nil {
		return err
	}
	s.passage = p
	s.entered(p)
	return nil
}
