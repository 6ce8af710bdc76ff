// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Start starts a server that was stopped or killed, and returns when it answers.
func (s *Server) Start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own
	return await(fmt.Sprintf("a server in %s", s.dir), func() error {
		if !s.Running() { // after a kill the next one may start only when all backends have gone
			if err := s.launch(log); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := s.connect(ctx)
		if err != nil {
			return errors.Join(err, s.lastWords())
		}
		return c.Close(ctx)
	})
}

// launch starts the server's process.
func (s *Server) launch(log *os.File) error {
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", fmt.Sprint(s.Port))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := asUser(cmd); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.process, s.ended = cmd, ended
	s.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended does not matter
		close(ended)
	}()
	return nil
}

// lastWords returns the end of the server's log.
func (s *Server) lastWords() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	return fmt.Errorf("its log ends with:\n%s", text[max(0, len(text)-1000):])
}

// Running reports whether the server's first process, the postmaster, runs.
func (s *Server) Running() bool {
	_, ended := s.current()
	select {
	case <-ended:
		return false
	default:
		return ended != nil
	}
}

func (s *Server) current() (*exec.Cmd, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process, s.ended
}

// Stop stops the server in order: connections are cut, and what was written is flushed.
func (s *Server) Stop() error { return s.signal(syscall.SIGINT, true) }

// Kill ends the postmaster by SIGKILL. The other processes notice and end.
func (s *Server) Kill() { _ = s.signal(syscall.SIGKILL, true) } // it may have ended already

// signal signals the postmaster, and waits for its end if asked to.
func (s *Server) signal(sig os.Signal, wait bool) error {
	process, ended := s.current()
	if !s.Running() {
		return errors.New("the server does not run")
	}
	if err := process.Process.Signal(sig); err != nil {
		return err
	}
	if wait {
		<-ended
	}
	return nil
}

// Promote makes a standby a primary that waits for no standby.
func (s *Server) Promote() error {
	if err := s.run("pg_ctl", "promote", "--wait", "--pgdata", s.data()); err != nil {
		return err
	}
	if err := s.Exec("ALTER SYSTEM SET synchronous_standby_names = ''"); err != nil {
		return err
	}
	return s.Exec("SELECT pg_reload_conf()")
}
