// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// calls counts calls and their messages by method, under the names that dashboards for gRPC expect. What a method
// counts is looked up once, and not again for each message (docs/decisions/README.md).
type calls struct {
	started, received, sent, handled *prometheus.CounterVec
	seconds                          *prometheus.HistogramVec

	methods map[string]*counted // by "/SERVICE/METHOD"; it does not change while the server serves
}

// counted is what one method counts.
type counted struct {
	started, received, sent prometheus.Counter
	handled                 [codes.Unauthenticated + 1]prometheus.Counter // by code
	seconds                 prometheus.Observer
}

func newCalls() *calls {
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help},
			append([]string{"grpc_type", "grpc_service", "grpc_method"}, more...))
	}
	return &calls{
		started:  counter("grpc_server_started_total", "Calls that began."),
		received: counter("grpc_server_msg_received_total", "Messages that calls received."),
		sent:     counter("grpc_server_msg_sent_total", "Messages that calls sent."),
		handled:  counter("grpc_server_handled_total", "Calls that ended, by code.", "grpc_code"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "grpc_server_handling_seconds", Help: "Time of calls, from their begin to their end.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}},
			[]string{"grpc_type", "grpc_service", "grpc_method"}),
		methods: map[string]*counted{},
	}
}

// Describe implements prometheus.Collector.
func (c *calls) Describe(to chan<- *prometheus.Desc) {
	for _, each := range []prometheus.Collector{c.started, c.received, c.sent, c.handled, c.seconds} {
		each.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (c *calls) Collect(to chan<- prometheus.Metric) {
	for _, each := range []prometheus.Collector{c.started, c.received, c.sent, c.handled, c.seconds} {
		each.Collect(to)
	}
}

// register has the methods of a server counted. They are shown from the beginning, with zeros.
func (c *calls) register(s *grpc.Server) {
	kinds := map[[2]bool]string{{}: "unary", {true, false}: "client_stream", {false, true}: "server_stream",
		{true, true}: "bidi_stream"}
	for service, info := range s.GetServiceInfo() {
		for _, m := range info.Methods {
			labels := []string{kinds[[2]bool{m.IsClientStream, m.IsServerStream}], service, m.Name}
			of := &counted{started: c.started.WithLabelValues(labels...),
				received: c.received.WithLabelValues(labels...),
				sent:     c.sent.WithLabelValues(labels...), seconds: c.seconds.WithLabelValues(labels...)}
			for code := range of.handled {
				of.handled[code] = c.handled.WithLabelValues(append(labels, codes.Code(code).String())...)
			}
			c.methods[fmt.Sprintf("/%s/%s", service, m.Name)] = of
		}
	}
}

// end counts a call that has ended.
func (c *counted) end(start time.Time, err error) {
	c.handled[min(status.Code(err), codes.Unauthenticated)].Inc()
	c.seconds.Observe(time.Since(start).Seconds())
}

func (c *calls) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	of, start := c.methods[info.FullMethod], time.Now()
	of.started.Inc()
	err := next(srv, &countedStream{stream, of})
	of.end(start, err)
	return err
}

// countedStream is a stream whose messages are counted.
type countedStream struct {
	grpc.ServerStream
	of *counted
}

// RecvMsg implements grpc.ServerStream.
func (s *countedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.of.received.Inc()
	}
	return err
}

// SendMsg implements grpc.ServerStream.
func (s *countedStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if err == nil {
		s.of.sent.Inc()
	}
	return err
}
