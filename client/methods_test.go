// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"io"
	"net"
	"path"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// verbs has, for each method of the API, a call of the Client's method that sends it.
var verbs = map[string]func(ctx context.Context, c *Client){
	"CreateLedger": func(ctx context.Context, c *Client) { _, _ = c.CreateLedger(ctx, &pb.LedgerSpec{}) },
	"GetLedger":    func(ctx context.Context, c *Client) { _, _ = c.GetLedger(ctx, "x") },
	"ListLedgers": func(ctx context.Context, c *Client) {
		for range c.ListLedgers(ctx, "") {
			break
		}
	},
	"CloseLedger":  func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Close{Reason: ""}) },
	"Report":       func(ctx context.Context, c *Client) { _, _ = c.Report(ctx, "x", nil, nil) },
	"ReportStream": func(ctx context.Context, c *Client) { _, _ = c.Stream(ctx, "x") },
	"Reserve":      func(ctx context.Context, c *Client) { _, _ = c.Reserve(ctx, "x", nil, time.Minute, nil) },
	"Commit":       func(ctx context.Context, c *Client) { _, _ = c.Commit(ctx, "x", 1, nil, nil) },
	"Release":      func(ctx context.Context, c *Client) { _, _ = c.Release(ctx, "x", 1, "") },
	"Expire":       func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Expire{Reservation: 1}) },
	"Free":         func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Free{}) },
	"Refund":       func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Refund{}) },
	"Raise":        func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Raise{}) },
	"Reconcile":    func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Reconcile{}) },
	"Acknowledge":  func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Acknowledge{}) },
	"Observe":      func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Observe{}) },
	"Propose":      func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Propose{}) },
	"Approve":      func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Approve{Proposal: 1}) },
	"Withdraw":     func(ctx context.Context, c *Client) { _, _ = c.Write(ctx, "x", &pb.Withdraw{Proposal: 1}) },
	"WatchLedger": func(ctx context.Context, c *Client) {
		for range c.Watch(ctx, "x") {
			break
		}
	},
	"GetStatement":    func(ctx context.Context, c *Client) { _, _ = c.Statement(ctx, "x") },
	"GetWriter":       func(ctx context.Context, c *Client) { _, _ = c.GetWriter(ctx, "x", "") },
	"QueryPrivacy":    func(ctx context.Context, c *Client) { _, _ = c.Query(ctx, "x", Delta(1e-6)) },
	"QueryPrivacySet": func(ctx context.Context, c *Client) { _, _ = c.Set("x", "y").Query(ctx, Delta(1e-6)) },
	"QueryPrivacyCurve": func(ctx context.Context, c *Client) {
		_, _ = c.Curve(ctx, &pb.QueryPrivacyCurveRequest{})
	},
	"QueryOverview": func(ctx context.Context, c *Client) {
		for range c.Overview(ctx, &pb.QueryOverviewRequest{}) {
			break
		}
	},
	"QueryHistory":  func(ctx context.Context, c *Client) { _, _ = c.History(ctx, &pb.QueryHistoryRequest{}) },
	"QuerySpending": func(ctx context.Context, c *Client) { _, _ = c.Spending(ctx, &pb.QuerySpendingRequest{}) },
	"QuerySpendingAnywhere": func(ctx context.Context, c *Client) {
		for range c.SpendingAnywhere(ctx, &pb.QuerySpendingAnywhereRequest{}) {
			break
		}
	},
	"QueryForecast": func(ctx context.Context, c *Client) { _, _ = c.Forecast(ctx, "x") },
	"Calibrate":     func(ctx context.Context, c *Client) { _, _ = c.Calibrate(ctx, &pb.CalibrateRequest{}) },
	"ListEntries": func(ctx context.Context, c *Client) {
		for range c.Entries(ctx, "x", EntriesOptions{}) {
			break
		}
	},
	"ListRefusals":   func(ctx context.Context, c *Client) { _, _ = c.Refusals(ctx, "x") },
	"GetStoreStatus": func(ctx context.Context, c *Client) { _, _ = c.StoreStatus(ctx) },
	"GetSignedHead":  func(ctx context.Context, c *Client) { _, _ = c.SignedHead(ctx, "x") },
	"GetAccess":      func(ctx context.Context, c *Client) { _, _ = c.GetAccess(ctx, &pb.GetAccessRequest{}) },
	"CreateDataset":  func(ctx context.Context, c *Client) { _, _ = c.CreateDataset(ctx, &pb.CreateDatasetRequest{}) },
	"AmendDataset": func(ctx context.Context, c *Client) { // a client has no lane of a dataset
		_, _ = c.WriteOnce(ctx, "dataset:x", "key", &pb.AmendDataset{})
	},
	"Backup": func(ctx context.Context, c *Client) { _, _ = c.Backup(ctx, io.Discard, nil) },
}

// without has the methods of the API that the Client leaves out on purpose, each with the reason.
var without = map[string]string{}

// Every method of the API can be called by the Client.
func TestEveryMethodHasAVerb(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	called := map[string]bool{}
	see := func(method string) {
		mu.Lock()
		defer mu.Unlock()
		called[path.Base(method)] = true
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo,
			handle grpc.UnaryHandler) (any, error) {
			see(info.FullMethod)
			return handle(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo,
			handle grpc.StreamHandler) error {
			see(info.FullMethod)
			return handle(srv, s)
		}))
	api.Register(server, api.Unimplemented{}) // refuses each
	listener := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)

	for m := range api.Methods() {
		method := string(m.Name())
		verb, ok := verbs[method]
		if _, left := without[method]; ok == left {
			t.Errorf("%s needs either a call in verbs, or in without the reason why the Client leaves it out", method)
			continue
		}
		if !ok {
			continue
		}
		c, err := New(Config{MaxAttempts: 1, DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return listener.DialContext(ctx)
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		verb(ctx, c)
		cancel()
		_ = c.Close()
		mu.Lock()
		if !called[method] {
			t.Errorf("%s is not what its verb sends: %v", method, called)
		}
		clear(called)
		mu.Unlock()
	}
}
