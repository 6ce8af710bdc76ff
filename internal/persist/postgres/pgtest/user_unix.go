// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account returns the user that servers run as. PostgreSQL refuses to run as root, so root's
// tests take another user.
func account() (uid, gid int, err error) {
	if os.Geteuid() != 0 {
		return os.Geteuid(), os.Getegid(), nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return uid, gid, nil
		}
	}
	return 0, 0, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// asUser makes a command run as that user, out of reach of the terminal's signals.
func asUser(cmd *exec.Cmd) error {
	uid, gid, err := account()
	if err != nil {
		return err
	}
	apart(cmd)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return nil
}

func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// own gives a file to that user.
func own(path string) error {
	uid, gid, err := account()
	if err != nil {
		return err
	}
	return os.Chown(path, uid, gid)
}

// writeOwned writes a file that only that user reads.
func writeOwned(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return own(path)
}

// Pause stops the postmaster's process without its noticing: it accepts connections, because the
// kernel does, and never answers them.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP, false) }

// Resume lets it go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT, false) }
