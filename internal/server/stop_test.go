// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// preface is what an HTTP/2 client says first (RFC 9113, §3.4); its settings must follow.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frozen is a connection whose owner stops reading, and then also writing, as a peer does
// that is slow, or whose machine is gone.
type frozen struct {
	net.Conn
	mu      sync.Mutex
	reading chan struct{} // closed: reads wait for ever
	writing chan struct{} // closed: writes are lost
	ended   chan struct{}
	once    sync.Once
}

func (f *frozen) Read(p []byte) (int, error) {
	select {
	case <-f.reading:
		<-f.ended
		return 0, io.EOF
	default:
		return f.Conn.Read(p)
	}
}

func (f *frozen) Write(p []byte) (int, error) {
	select {
	case <-f.writing:
		return len(p), nil
	default:
		return f.Conn.Write(p)
	}
}

func (f *frozen) Close() error {
	f.once.Do(func() { close(f.ended) })
	return f.Conn.Close()
}

// stubborn opens a connection, has one call answered on it, leaves another unanswered, and
// then does not read any more; with gone it behaves like a peer whose machine has lost power.
func stubborn(t *testing.T, network, address string, secure credentials.TransportCredentials, gone bool) {
	t.Helper()
	f := &frozen{reading: make(chan struct{}), writing: make(chan struct{}), ended: make(chan struct{})}
	conn, err := grpc.NewClient("passthrough:///127.0.0.1", grpc.WithTransportCredentials(secure),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.Conn != nil {
				return nil, io.EOF // once
			}
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			f.Conn = c
			return f, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := api.NewClient(conn)
	if _, err := client.ListLedgers(servertest.Context(t), &pb.ListLedgersRequest{}); err != nil {
		t.Fatal(err)
	}
	close(f.reading)
	go func() { _, _ = client.ListLedgers(servertest.Context(t), &pb.ListLedgersRequest{}) }()
	if gone {
		time.Sleep(time.Millisecond)
		close(f.writing)
	}
}

// No peer holds up an orderly stop: neither one that says nothing, nor one in the middle
// of its handshake, nor one that does not read, nor one that is gone, on any listener.
// Nothing is charged any more once stopping has begun. The period is below the 20 s that
// gRPC waits for a handshake.
func TestStopWithSilentPeers(t *testing.T) {
	t.Parallel()
	const period = 12 * time.Second
	a := servertest.NewAuthority(t)
	cert, key := a.Issue("server", nil)
	socket := filepath.Join(shortDir(t), "peers.sock")
	for name, config := range map[string]server.Config{
		"plain": {Listen: []string{"unix://" + socket}},
		"TLS":   {TLS: endpoint.TLSFiles{Cert: cert, Key: key}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config.HTTP, config.DrainTimeout = "127.0.0.1:0", period
			s := servertest.StartWith(t, servertest.Config{Server: config})
			secure := insecure.NewCredentials()
			if name == "TLS" {
				secure = credentials.NewTLS(a.Client("server"))
			}
			peers := [][2]string{{"tcp", s.Addr}, {"tcp", s.HTTPAddr}}
			if name == "plain" {
				peers = append(peers, [2]string{"unix", socket})
			}
			for _, p := range peers {
				for _, says := range []string{"", "PRI", preface, "GET /metrics HTTP/1.1\r\n"} {
					c, err := net.Dial(p[0], p[1])
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() })
					if name == "TLS" && strings.HasPrefix(says, preface) {
						config := a.Client("server").Clone()
						config.ServerName, config.NextProtos = "127.0.0.1", []string{"h2"}
						c = tls.Client(c, config)
					}
					if _, err := io.WriteString(c, says); err != nil {
						t.Fatal(err)
					}
				}
				if p[1] != s.HTTPAddr {
					stubborn(t, p[0], p[1], secure, false)
					stubborn(t, p[0], p[1], secure, true)
				}
			}
			conn := s.Dial(grpc.WithTransportCredentials(secure))
			client := api.NewClient(conn)
			if _, err := client.CreateLedger(servertest.Context(t),
				&pb.CreateLedgerRequest{Spec: servertest.Spec("stopping")}); err != nil {
				t.Fatal(err)
			}
			stopping := make(chan struct{})
			late := make(chan uint64, 1)
			go func() { late <- chargeAfter(t, client, stopping) }()
			began := time.Now()
			go func() { <-s.Stopping(); close(stopping) }()
			s.Stop() // without an error: the exit status is 0
			if took := time.Since(began); took > period {
				t.Errorf("stopping took %v; the period is %v", took, period)
			}
			if n := <-late; n > 0 {
				t.Errorf("%d charges were taken after stopping had begun", n)
			}
		})
	}
}

// chargeAfter charges until the connection is gone and counts what was taken of the calls
// that began after stopping.
func chargeAfter(t *testing.T, client api.Client, stopping <-chan struct{}) (taken uint64) {
	w := servertest.Writer()
	for sequence := uint64(1); t.Context().Err() == nil; {
		late := false
		select {
		case <-stopping:
			late = true
		default:
		}
		_, err := client.Report(t.Context(),
			&pb.ReportRequest{Lane: &pb.Lane{Ledger: "stopping", Writer: w, Sequence: sequence}, Charge: one})
		switch {
		case err == nil && late:
			taken++
			fallthrough
		case err == nil:
			sequence++
		case status.Code(err) != codes.Unavailable:
			t.Errorf("a charge: %v", err)
			return taken
		case !strings.Contains(err.Error(), "shutting down"): // the connection is gone
			return taken
		}
	}
	return taken
}
