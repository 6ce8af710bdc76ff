// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// attack is a mix of questions that cost the daemon much and who asks them little: so many
// ask at once, again and again, and wait so long.
type attack struct {
	says     string
	askers   int
	deadline time.Duration
	ask      func(ctx context.Context, c api.Client, i int) error
}

// attacks are what once made others' charges wait, by name.
var attacks = map[string]attack{
	"long":      {"requests of some hundred bytes with deadlines of ten hours", 32, 10 * time.Hour, askMany},
	"abandoned": {"requests that are given up after 50 ms", 60, 50 * time.Millisecond, askMany},
	"endless":   {"a privacy curve of a group of 255 sampled Gaussians", 4, 10 * time.Hour, askGroup},
	"tables":    {"2,100 tables of privacy losses", 4, 20 * time.Second, askTables},
}

// askMany asks about twenty sampled Gaussians and Laplace noises of little noise.
func askMany(ctx context.Context, c api.Client, i int) error {
	w := &pb.Workload{Adjacency: pb.Workload_REPLACE_ONE}
	for k := range 10 {
		q := 1e-3 * (1 + float64(i*10+k)/1000)
		w.Events = append(w.Events, client.Event(client.PoissonSampled(q, client.Gaussian(0.4)), 1000),
			client.Event(client.PoissonSampled(q, laplace(0.05)), 1000))
	}
	gap := 1e-9
	_, err := c.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Workload{Workload: w},
		Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}, MaxGap: &gap})
	return err
}

func laplace(scale float64) *pb.Mechanism {
	one := 1.0
	return &pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{Scale: &scale, Sensitivity: &one}}}
}

func askGroup(ctx context.Context, c api.Client, i int) error {
	size := uint64(255)
	group := &pb.Mechanism{Kind: &pb.Mechanism_Group{Group: &pb.Group{Size: &size,
		Mechanism: client.PoissonSampled(0.01*(1+float64(i)/1000), client.Gaussian(20))}}}
	w := &pb.Workload{Adjacency: pb.Workload_REPLACE_ONE, Events: []*pb.Event{client.Event(group, 1000)}}
	_, err := c.QueryPrivacyCurve(ctx,
		&pb.QueryPrivacyCurveRequest{Subject: &pb.QueryPrivacyCurveRequest_Workload{Workload: w}})
	return err
}

func askTables(ctx context.Context, c api.Client, i int) error {
	w := &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}
	for k := range 2100 {
		t := &pb.PrivacyLossTable{}
		var sum float64
		for l := range 8 {
			x := 0.01 * (float64(l) - 3.5 + float64(i*2100+k)/1e5)
			t.Losses = append(t.Losses, x)
			t.Masses = append(t.Masses, math.Exp(x/2))
			sum += math.Exp(x / 2)
		}
		var other float64
		for l := range t.Masses {
			t.Masses[l] /= sum
			other += t.Masses[l] * math.Exp(-t.Losses[l])
		}
		for l := range t.Losses { // Σ p·e^{−l} = 1 − a little
			t.Losses[l] += math.Log(other) + 1e-6
		}
		w.Events = append(w.Events,
			client.Event(&pb.Mechanism{Kind: &pb.Mechanism_PrivacyLossTable{PrivacyLossTable: t}}, 1))
	}
	_, err := c.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Workload{Workload: w},
		Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
	return err
}

// attacked counts what became of an attack's questions.
type attacked struct {
	Answered int64 `json:"answered"`
	Refused  int64 `json:"refused"` // at once
	Late     int64 `json:"late"`    // their deadline passed
}

// run asks until ctx ends, over a connection of its own. Who is refused comes back a moment later.
func (a attack) run(ctx context.Context, s settings) (out attacked, err error) {
	secure := insecure.NewCredentials()
	if s.config != nil {
		secure = credentials.NewTLS(s.config)
	}
	conn, err := grpc.NewClient(s.server, grpc.WithTransportCredentials(secure))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	c := api.NewClient(conn)
	var answered, refused, late atomic.Int64
	var all sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for n := range a.askers {
		all.Go(func() {
			for i := n; ctx.Err() == nil; i += a.askers {
				call, end := context.WithTimeout(ctx, a.deadline)
				err := a.ask(call, c, i)
				end()
				switch status.Code(err) {
				case codes.OK:
					answered.Add(1)
				case codes.DeadlineExceeded:
					late.Add(1)
				case codes.Unavailable, codes.ResourceExhausted:
					refused.Add(1)
					time.Sleep(50 * time.Millisecond)
				case codes.Canceled:
				default:
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return attacked{answered.Load(), refused.Load(), late.Load()}, err
}

// names of attacks, with what they are, for the usage.
func attackUsage() string {
	text := "also ask, while it runs, what costs much:"
	for _, name := range []string{"long", "abandoned", "endless", "tables"} {
		text += fmt.Sprintf(" %s (%d %s)", name, attacks[name].askers, attacks[name].says)
	}
	return text
}
