// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Reserve sets events aside in a ledger with budgets, all of them or none. From then on they
// count as spent, until they are committed or released; what is left when the lifetime is over
// is charged. lifetime is a whole number of seconds, from 1 s to 366 days. The receipt's
// position names the reservation.
//
// The request travels in the lane as Report's does, with the same errors and retries. Only the
// ledger's creator may reserve more than half of its whole budget at once, or a caller on the
// daemon's own socket.
func (c *Client) Reserve(ctx context.Context, ledger string, events []*pb.Event, lifetime time.Duration,
	labels map[string]string) (*pb.WriteResponse, error) {
	w, err := reserveOf("Reserve", ledger, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return c.write(ctx, "Reserve", ledger, w)
}

// Commit charges a part of an open reservation, named by its position. It is
// never refused for lack of budget. It travels in the lane like Report.
func (c *Client) Commit(ctx context.Context, ledger string, reservation uint64, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	return c.write(ctx, "Commit", ledger,
		Write{Action: &pb.Commit{Reservation: reservation, Events: events, Labels: labels}})
}

// Release gives back what is left of an open reservation. The caller asserts that nothing was,
// or will be, computed from the data for it. The request travels in the lane as Report's does.
func (c *Client) Release(ctx context.Context, ledger string, reservation uint64,
	reason string) (*pb.WriteResponse, error) {
	return c.write(ctx, "Release", ledger,
		Write{Action: &pb.Release{Reservation: reservation, Reason: reason}})
}

// ReserveOnce is Reserve under a key that the caller chooses: see ReportOnce.
func (c *Client) ReserveOnce(ctx context.Context, ledger, key string, events []*pb.Event, lifetime time.Duration,
	labels map[string]string) (*pb.WriteResponse, error) {
	w, err := reserveOf("ReserveOnce", ledger, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return c.once(ctx, "ReserveOnce", ledger, key, w)
}

// CommitOnce is Commit under a key that the caller chooses: see ReportOnce.
func (c *Client) CommitOnce(ctx context.Context, ledger, key string, reservation uint64, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	return c.once(ctx, "CommitOnce", ledger, key,
		Write{Action: &pb.Commit{Reservation: reservation, Events: events, Labels: labels}})
}

// ReleaseOnce is Release under a key that the caller chooses: see ReportOnce.
func (c *Client) ReleaseOnce(ctx context.Context, ledger, key string, reservation uint64,
	reason string) (*pb.WriteResponse, error) {
	return c.once(ctx, "ReleaseOnce", ledger, key,
		Write{Action: &pb.Release{Reservation: reservation, Reason: reason}})
}

// reserveOf makes the API's message, with the lifetime in seconds. The daemon checks their
// range.
func reserveOf(op, ledger string, events []*pb.Event, lifetime time.Duration, labels map[string]string) (Write, error) {
	seconds := lifetime / time.Second
	if lifetime%time.Second != 0 || seconds < 0 || seconds > 1<<32-1 {
		return Write{}, invalid(op, ledger,
			fmt.Sprintf("lifetime: %v; allowed: whole seconds, 1 s to 366 days", lifetime))
	}
	return Write{Action: &pb.Reserve{Events: events, Labels: labels, LifetimeSeconds: uint32(seconds)}}, nil
}
