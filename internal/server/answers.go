// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/fairuse"
)

// What answers take of the allowance that fairuse.Answers keeps: their encoded bytes, times what follows, and a part
// that each one has.
const (
	// eachAnswer is what a call takes whose answer is not read: gRPC's stream and buffers.
	eachAnswer = 4 << 10
	// madeWeight is for an answer that a handler returns as a message, until it is encoded.
	madeWeight = 4
	// listWeight is for a list, whose handler encodes each item: the bytes so far, and those that they are copied to.
	listWeight = 2
	// webWeight is for an answer over HTTP. It is decoded again, where an event of 20 bytes takes some 300, and written
	// as JSON or a page, which takes as much once more.
	webWeight = 32
	// smallWrite is how large an answer to a write may be that does not count. Only charges to many ledgers and large
	// plans have longer ones.
	smallWrite = 8 << 10
)

// sendTime is within when a caller must have read an answer. Then its connection is closed: whoever reads nothing is
// not to hold memory for ever. An answer has at most some 4 MiB, so 70 KiB a second are enough.
const sendTime = time.Minute

// answer is a message that counts until it is sent.
type answer struct {
	proto.Message
	held *fairuse.Answer
	late *time.Timer
}

// hold has an answer count until it is sent or, if it goes to the HTTP port, until that has answered. Answers to writes
// count if they are long.
func (s *Server) hold(ctx context.Context, c *caller, m proto.Message) (any, error) {
	n := proto.Size(m)
	need := eachAnswer + madeWeight*n
	if c.web {
		need = eachAnswer + webWeight*n
	}
	var err error
	switch {
	case c.answer == nil && n <= smallWrite:
		return m, nil
	case c.answer == nil:
		err = s.owe(c, m, need)
	case c.web || c.answer.Taken() < n: // otherwise it is a list that was encoded already
		err = c.answer.Take(need)
	}
	if err != nil {
		return nil, err
	}
	if c.web {
		return m, nil
	}
	p, _ := peer.FromContext(ctx)
	a := &answer{Message: m, held: c.answer}
	a.late = time.AfterFunc(s.config.SendTime, func() {
		a.held.Release()
		s.tooLate(c, p)
	})
	return a, nil
}

// owe counts the answer to a write, which needs so many bytes: a call of a hundred bytes that sends a charge to a
// thousand ledgers again has an answer of 200 KiB. Where there is no room, an answer that tells of nothing new is
// withheld, and any other one takes what it needs.
func (s *Server) owe(c *caller, m proto.Message, need int) error {
	c.answer = s.answers.To(c.principal, c.identity().Proven())
	if c.web {
		c.release(c.answer.Release)
	}
	replay, _ := m.(interface{ GetReplayed() bool })
	check, _ := m.(interface{ GetCheckOnly() bool })
	switch {
	case replay != nil && replay.GetReplayed(): // without a time to come back, which says that nothing was written
		if err := c.answer.Take(need); err != nil {
			return status.Errorf(codes.Unavailable, "this was written before, and its receipt waits: %v; "+
				"send it again in a moment", err)
		}
	case check != nil && check.GetCheckOnly():
		return c.answer.Take(need)
	default:
		c.answer.Owe(need)
	}
	return nil
}

// tooLate closes the connection of a caller who has not read an answer within SendTime.
func (s *Server) tooLate(c *caller, p *peer.Peer) {
	if proof, ok := p.AuthInfo.(endpoint.Proof); ok && proof.Close != nil {
		s.config.Logger.Info("a connection is closed, as an answer was not read", "principal", c.principal,
			"peer.address", p.Addr.String(), "within", s.config.SendTime)
		proof.Close()
	}
}

// encode implements what codec asks. gRPC gives the buffer back when it has sent it, or nobody waits for it any more.
func (a *answer) encode() (mem.BufferSlice, error) {
	size := proto.Size(a.Message)
	room := size
	for mem.IsBelowBufferPoolingThreshold(room) { // gRPC would not say when it has sent it
		room += 1 << 10
	}
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(make([]byte, 0, room), a.Message)
	if err != nil {
		a.Put(nil)
		return nil, err
	}
	a.Message = nil
	a.held.Fits(eachAnswer + room) // which is less than before
	return mem.BufferSlice{mem.NewBuffer(&b, a)}, nil
}

// Get implements mem.BufferPool; nobody calls it.
func (*answer) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements mem.BufferPool: the answer was sent, or nobody waits for it any more.
func (a *answer) Put(*[]byte) {
	a.late.Stop()
	a.held.Release()
}

// sent is a stream whose answers do not count, as they are small or few. A caller who reads none of them holds up
// SendMsg once gRPC has queued some 64 KiB.
type sent struct {
	grpc.ServerStream
	late   *time.Timer // runs while SendMsg waits
	within time.Duration
}

// inTime returns a stream that is ended if the caller does not read what is sent.
func (s *Server) inTime(stream grpc.ServerStream, c *caller) *sent {
	p, _ := peer.FromContext(stream.Context())
	late := time.AfterFunc(s.config.SendTime, func() { s.tooLate(c, p) })
	late.Stop()
	return &sent{stream, late, s.config.SendTime}
}

// SendMsg implements grpc.ServerStream.
func (s *sent) SendMsg(m any) error {
	s.late.Reset(s.within)
	defer s.late.Stop()
	return s.ServerStream.SendMsg(m)
}

// answers is a stream whose answers count until they are sent or, if they go to the HTTP port, until the next one.
type answers struct {
	grpc.ServerStream
	server *Server
	caller *caller
}

// SendMsg implements grpc.ServerStream.
func (s *answers) SendMsg(m any) error {
	c := s.caller
	if !c.web || c.answer == nil {
		c.answer = s.server.answers.To(c.principal, c.identity().Proven())
	}
	held, err := s.server.hold(s.Context(), c, m.(proto.Message))
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(held)
}

// end gives back what the last answer over HTTP has taken.
func (s *answers) end() {
	if s.caller.web && s.caller.answer != nil {
		s.caller.answer.Release()
	}
}
