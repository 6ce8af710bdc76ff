package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Reserve sets events aside on a ledger with budgets, together or not at all:
// from then on they are as good as charged, until they are committed, released,
// or the lifetime is over (then they are charged). lifetime is in whole seconds,
// 1 s to 366 days; the receipt's position names the reservation. It travels in
// the lane like Report, with the same errors and retries. More than half of the
// ledger's whole budget at once is for its creator, as CloseLedger is.
func (c *Client) Reserve(ctx context.Context, ledger string, events []*pb.Event, lifetime time.Duration, labels map[string]string) (*pb.ReserveResponse, error) {
	w, err := reserveOf("Reserve", ledger, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return inLane[*pb.ReserveResponse](ctx, c, "Reserve", ledger, w)
}

// Commit charges a part of an open reservation, named by its position. It is
// never refused for lack of budget. It travels in the lane like Report.
func (c *Client) Commit(ctx context.Context, ledger string, reservation uint64, events []*pb.Event, labels map[string]string) (*pb.CommitResponse, error) {
	return inLane[*pb.CommitResponse](ctx, c, "Commit", ledger, Write{Commit: &pb.Commit{Reservation: reservation, Events: events, Labels: labels}})
}

// Release gives back what is left of an open reservation: nothing was, or will
// be, computed from the data for it. It travels in the lane like Report.
func (c *Client) Release(ctx context.Context, ledger string, reservation uint64, reason string) (*pb.ReleaseResponse, error) {
	return inLane[*pb.ReleaseResponse](ctx, c, "Release", ledger, Write{Release: &pb.Release{Reservation: reservation, Reason: reason}})
}

// Expire charges what is left of an open reservation now, before its time is over. Only
// on the daemon's own socket. It travels in the lane like Report.
func (c *Client) Expire(ctx context.Context, ledger string, reservation uint64) (*pb.ExpireResponse, error) {
	return inLane[*pb.ExpireResponse](ctx, c, "Expire", ledger, Write{Expire: &pb.Expire{Reservation: reservation}})
}

// Free gives back what is left of an open reservation that somebody else made, on the
// word of whoever calls that nothing computed for it was released; the guarantee of
// later answers is descriptive. Only on the daemon's own socket. It travels in the lane
// like Report.
func (c *Client) Free(ctx context.Context, ledger string, free *pb.Free) (*pb.FreeResponse, error) {
	return inLane[*pb.FreeResponse](ctx, c, "Free", ledger, Write{Free: present(free)})
}

// Refund gives back all that one entry charged, on the word of whoever calls that
// nothing computed for it was released; the guarantee of later answers is
// descriptive. Only on the daemon's own socket. It travels in the lane like Report.
func (c *Client) Refund(ctx context.Context, ledger string, refund *pb.Refund) (*pb.RefundResponse, error) {
	return inLane[*pb.RefundResponse](ctx, c, "Refund", ledger, Write{Refund: present(refund)})
}

// Raise makes budgets, or the plan, larger. Only on the daemon's own socket. It
// travels in the lane like Report.
func (c *Client) Raise(ctx context.Context, ledger string, raise *pb.Raise) (*pb.RaiseResponse, error) {
	return inLane[*pb.RaiseResponse](ctx, c, "Raise", ledger, Write{Raise: present(raise)})
}

// Reconcile says what a restored ledger has lost: it is charged, or the loss is
// accepted. Only on the daemon's own socket. It travels in the lane like Report.
func (c *Client) Reconcile(ctx context.Context, ledger string, reconcile *pb.Reconcile) (*pb.ReconcileResponse, error) {
	if reconcile == nil { // an empty one says that nothing was lost
		return nil, invalid("Reconcile", ledger, "reconcile: missing; allowed: what was lost")
	}
	return inLane[*pb.ReconcileResponse](ctx, c, "Reconcile", ledger, Write{Reconcile: reconcile})
}

// ReserveOnce is Reserve under the user's own key, as ReportOnce is Report.
func (c *Client) ReserveOnce(ctx context.Context, ledger, key string, events []*pb.Event, lifetime time.Duration, labels map[string]string) (*pb.ReserveResponse, error) {
	w, err := reserveOf("ReserveOnce", ledger, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return once[*pb.ReserveResponse](ctx, c, "ReserveOnce", ledger, key, w)
}

// CommitOnce is Commit under the user's own key, as ReportOnce is Report.
func (c *Client) CommitOnce(ctx context.Context, ledger, key string, reservation uint64, events []*pb.Event, labels map[string]string) (*pb.CommitResponse, error) {
	return once[*pb.CommitResponse](ctx, c, "CommitOnce", ledger, key, Write{Commit: &pb.Commit{Reservation: reservation, Events: events, Labels: labels}})
}

// ReleaseOnce is Release under the user's own key, as ReportOnce is Report.
func (c *Client) ReleaseOnce(ctx context.Context, ledger, key string, reservation uint64, reason string) (*pb.ReleaseResponse, error) {
	return once[*pb.ReleaseResponse](ctx, c, "ReleaseOnce", ledger, key, Write{Release: &pb.Release{Reservation: reservation, Reason: reason}})
}

// ExpireOnce is Expire under the user's own key, as ReportOnce is Report.
func (c *Client) ExpireOnce(ctx context.Context, ledger, key string, reservation uint64) (*pb.ExpireResponse, error) {
	return once[*pb.ExpireResponse](ctx, c, "ExpireOnce", ledger, key, Write{Expire: &pb.Expire{Reservation: reservation}})
}

// FreeOnce is Free under the user's own key, as ReportOnce is Report.
func (c *Client) FreeOnce(ctx context.Context, ledger, key string, free *pb.Free) (*pb.FreeResponse, error) {
	return once[*pb.FreeResponse](ctx, c, "FreeOnce", ledger, key, Write{Free: present(free)})
}

// RefundOnce is Refund under the user's own key, as ReportOnce is Report.
func (c *Client) RefundOnce(ctx context.Context, ledger, key string, refund *pb.Refund) (*pb.RefundResponse, error) {
	return once[*pb.RefundResponse](ctx, c, "RefundOnce", ledger, key, Write{Refund: present(refund)})
}

// RaiseOnce is Raise under the user's own key, as ReportOnce is Report.
func (c *Client) RaiseOnce(ctx context.Context, ledger, key string, raise *pb.Raise) (*pb.RaiseResponse, error) {
	return once[*pb.RaiseResponse](ctx, c, "RaiseOnce", ledger, key, Write{Raise: present(raise)})
}

// ReconcileOnce is Reconcile under the user's own key, as ReportOnce is Report.
func (c *Client) ReconcileOnce(ctx context.Context, ledger, key string, reconcile *pb.Reconcile) (*pb.ReconcileResponse, error) {
	if reconcile == nil {
		return nil, invalid("ReconcileOnce", ledger, "reconcile: missing; allowed: what was lost")
	}
	return once[*pb.ReconcileResponse](ctx, c, "ReconcileOnce", ledger, key, Write{Reconcile: reconcile})
}

// reserveOf converts a lifetime to the API's seconds; their range is the daemon's
// to check.
func reserveOf(op, ledger string, events []*pb.Event, lifetime time.Duration, labels map[string]string) (Write, error) {
	seconds := lifetime / time.Second
	if lifetime%time.Second != 0 || seconds < 0 || seconds > 1<<32-1 {
		return Write{}, invalid(op, ledger, fmt.Sprintf("lifetime: %v; allowed: whole seconds, 1 s to 366 days", lifetime))
	}
	return Write{Reserve: &pb.Reserve{Events: events, Labels: labels, LifetimeSeconds: uint32(seconds)}}, nil
}

// present is m, or an empty message for the daemon to refuse.
func present[M any, P interface {
	*M
	proto.Message
}](m P) P {
	if m == nil {
		return P(new(M))
	}
	return m
}
