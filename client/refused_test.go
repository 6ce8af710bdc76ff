// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// cutting is a store that calls cut, if there is one, when it has written and nobody has heard of it.
type cutting struct {
	ledger.Store
	cut atomic.Pointer[func()]
}

func (c *cutting) Append(p []ledger.Proposal) ([][]ledger.Hash, error) {
	hashes, err := c.Store.Append(p)
	if cut := c.cut.Swap(nil); cut != nil {
		(*cut)()
	}
	return hashes, err
}

// A write that found no connection at any attempt was sent nowhere, so its outcome is not unknown. One whose answer was
// lost stays unknown, however many dials are refused afterwards.
func TestRefusedDial(t *testing.T) {
	for name, lost := range map[string]bool{"never sent": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			store := &cutting{Store: memory.New(memory.Config{})}
			s := servertest.StartWith(t, servertest.Config{Store: store})
			s.Create(servertest.Filter("a", servertest.Basic(1000)))
			var away atomic.Bool
			connections := make(chan net.Conn, 100)
			daemon, err := client.New(client.Config{
				Server: s.Addr, BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond,
				DialOptions: []grpc.DialOption{grpc.WithContextDialer(
					func(ctx context.Context, address string) (net.Conn, error) {
						if away.Load() {
							return nil, errors.New("connection refused")
						}
						conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
						if err == nil {
							connections <- conn
						}
						return conn, err
					})}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = daemon.Close() })
			if _, err := daemon.Report(t.Context(), "a", tenths(1), nil); err != nil {
				t.Fatal(err)
			}
			cut := func() {
				away.Store(true)
				_ = (<-connections).Close()
			}
			soon := func() context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				t.Cleanup(cancel)
				return ctx
			}
			if lost {
				store.cut.Store(&cut)
			} else {
				cut()
				if answer, err := daemon.GetLedger(soon(), "a"); err == nil { // it notices the end of the connection
					t.Fatalf("a question was answered without a connection: %v", answer)
				}
			}
			var failed *client.Error
			_, err = daemon.Report(soon(), "a", tenths(1), nil)
			if !errors.As(err, &failed) || failed.Unknown != lost || (len(daemon.Pending("a")) > 0) != lost {
				t.Errorf("%v, %d pending; want unknown: %v", err, len(daemon.Pending("a")), lost)
			}
			away.Store(false)
			answer, err := daemon.Report(t.Context(), "a", tenths(1), nil)
			want := uint64(2)
			if lost { // the lost one was settled first
				want = 3
			}
			if err != nil || answer.GetReceipt().GetSequence() != want {
				t.Errorf("the next charge: %v, %v; want number %d", answer, err, want)
			}
		})
	}
}
