// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// clock times the reports of one stream, from when they are handed to the
// transport until their acknowledgement is read. After a new connection what is
// sent again counts from then.
type clock struct {
	mu   sync.Mutex
	last uint64      // acknowledged
	sent []time.Time // of what is not, in order
	took []time.Duration
}

func (c *clock) send() {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, now)
}

func (c *clock) acknowledge(through uint64) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if through <= c.last {
		return
	}
	n := min(through-c.last, uint64(len(c.sent)))
	for _, at := range c.sent[:n] {
		c.took = append(c.took, now.Sub(at))
	}
	c.sent = append(c.sent[:0], c.sent[n:]...)
	c.last = through
}

// resume is what a stream begins with: the rest will be sent again.
func (c *clock) resume(last uint64) {
	c.acknowledge(last)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = c.sent[:0]
}

// clocks are the streams' clocks, by their writers.
type clocks struct{ sync.Map }

// intercept looks at what passes on a report stream.
func (c *clocks) intercept(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := next(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, err
	}
	return &timed{ClientStream: s, clocks: c}, nil
}

// timed is a report stream with its clock, known from the first message.
type timed struct {
	grpc.ClientStream
	clocks *clocks
	clock  *clock
}

func (s *timed) SendMsg(m any) error {
	switch open, ok := m.(*pb.ReportStreamRequest); {
	case ok:
		if c, ok := s.clocks.Load(open.GetOpen().GetWriter()); ok {
			s.clock = c.(*clock)
		}
	case s.clock != nil:
		s.clock.send()
	}
	return s.ClientStream.SendMsg(m)
}

func (s *timed) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	if answer, ok := m.(*pb.ReportStreamResponse); ok && s.clock != nil {
		switch k := answer.GetMessage().(type) {
		case *pb.ReportStreamResponse_Opened_:
			s.clock.resume(k.Opened.GetLastSequence())
		case *pb.ReportStreamResponse_Acknowledged_:
			s.clock.acknowledge(k.Acknowledged.GetThrough())
		}
	}
	return nil
}
