// SPDX-License-Identifier: Apache-2.0

// Package servertest runs the real server for other packages' tests: over
// loopback, with a bbolt store in a temporary directory unless told otherwise.
package servertest

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/server"
)

// Config configures a Server. The zero value is useful.
type Config struct {
	// Store is served instead of a new bbolt store. The caller closes it.
	Store ledger.Store
	// SocketOnly has it listen on Server.Socket alone: a TCP port may be taken by
	// somebody else while the server restarts. Conn and Client are then of no use.
	SocketOnly bool
	// Server adds to the server's settings; Store and Failed are set here, and the first of the addresses in Listen.
	// A question may take an hour if nothing is said about it: the machine can be busy.
	Server server.Config
}

// Server is a running server. It stops when its test ends.
type Server struct {
	Addr     string // of the gRPC service; kept by Restart
	HTTPAddr string
	Store    ledger.Store
	Conn     *grpc.ClientConn
	Client   api.Client // on Conn

	t      testing.TB
	config Config
	path   string // of the bbolt store
	harmed bool   // by the test
	cancel context.CancelFunc
	done   chan error

	stopping <-chan struct{}
}

// Stopping is closed when the server has begun to stop.
func (s *Server) Stopping() <-chan struct{} { return s.stopping }

// Start runs a server with a new store.
func Start(t testing.TB) *Server { return StartWith(t, Config{}) }

// StartWith runs a server as configured.
func StartWith(t testing.TB, config Config) *Server {
	t.Helper()
	s := &Server{t: t, config: config, Addr: "127.0.0.1:0", path: filepath.Join(t.TempDir(), "accountant.db")}
	s.start()
	t.Cleanup(s.Stop)
	s.Conn = s.Dial()
	s.Client = api.NewClient(s.Conn)
	return s
}

func (s *Server) start() {
	s.t.Helper()
	config := s.config.Server
	config.Store = s.config.Store
	if config.Store == nil {
		metrics := server.NewMetrics()
		store, err := persist.Open(persist.Config{Path: s.path, Observe: func(c persist.Commit) {
			metrics.Commit(c.Operations, c.Entries, c.Bytes, c.Duration)
			config.Spans.Commit(c.Duration, c.Sync)
		}})
		if err != nil {
			s.t.Fatal(err)
		}
		config.Store, config.Failed, config.Metrics = store, store.Failed(), metrics
	}
	if config.QuestionTime == 0 {
		config.QuestionTime = time.Hour
	}
	if config.SigningKey == nil {
		config.SigningKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	}
	if !s.config.SocketOnly {
		config.Listen = append([]string{s.Addr}, config.Listen...)
	}
	running, err := server.Start(config)
	for patience := time.Now().Add(time.Minute); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(patience); {
		time.Sleep(20 * time.Millisecond) // somebody else has the port, who has come while the server restarted
		running, err = server.Start(config)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.HTTPAddr, s.Store = running.HTTPAddr(), config.Store
	if !s.config.SocketOnly {
		s.Addr = running.Addrs()[0]
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done, s.stopping = cancel, make(chan error, 1), running.Stopping()
	go func() { s.done <- running.Serve(ctx) }()
}

// Stop stops the server in order, closes its store and verifies the file; again it does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if err := <-s.done; err != nil {
		s.t.Errorf("server: %v", err)
	}
	if s.config.Store == nil {
		if err := s.Store.Close(); err != nil {
			s.t.Errorf("store: %v", err)
		}
		_, err := verify.File(context.Background(), verify.Config{Path: s.path})
		if err != nil && !s.harmed {
			s.t.Errorf("the file when the server had stopped: %v", err)
		}
	}
}

// Damages says that the test damages the file; any other file is verified at each stop.
func (s *Server) Damages() { s.harmed = true }

// Restart stops the server and starts it again on the same address and store.
func (s *Server) Restart() {
	s.t.Helper()
	s.RestartAfter(func(string) {})
}

// RestartAfter is Restart; in between, change may do as it likes with the file of
// the bbolt store. What the store keeps beside it is gone then: what notices that the
// file alone was put back is tested in package persist.
func (s *Server) RestartAfter(change func(path string)) {
	s.t.Helper()
	s.Stop()
	if err := os.Remove(s.path + ".acknowledged"); err != nil && s.config.Store == nil {
		s.t.Error(err)
	}
	change(s.path)
	s.start()
}

// LoseAfter makes a copy of the store, has lose done, and starts again with what is restored from the copy.
func (s *Server) LoseAfter(lose func()) {
	s.t.Helper()
	dir := s.t.TempDir()
	backup := filepath.Join(dir, "backup")
	content, _, err := s.Store.(*persist.Store).Backup()
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	copied, err := os.Create(backup)
	if err == nil {
		_, err = io.Copy(copied, content)
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		s.t.Fatal(err)
	}
	lose()
	s.RestartAfter(func(path string) {
		restored := filepath.Join(dir, "restored", filepath.Base(path))
		_, err := persist.Restore(context.Background(), persist.RestoreConfig{Backup: backup, Path: restored})
		if err == nil {
			err = os.Rename(restored, path)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	})
}

// Dial opens another connection, closed when the test ends.
func (s *Server) Dial(options ...grpc.DialOption) *grpc.ClientConn {
	s.t.Helper()
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	conn, err := grpc.NewClient(s.Addr, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Context ends when the test does, or after ten minutes, so that a test which waits for what never comes fails
// with its own message rather than by the run's timeout. No test waits that long on purpose.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TLS reports whether the server's TCP addresses speak TLS.
func (s *Server) TLS() bool { return s.config.Server.TLS.Cert != "" }
