// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
)

var errUnsupported = errors.New("these tests run servers on Unix systems only")

func asUser(*exec.Cmd) error { return errUnsupported }

func apart(*exec.Cmd) {}

func own(string) error { return errUnsupported }

func writeOwned(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }

// Pause is not supported on this system.
func (s *Server) Pause() error { return errUnsupported }

// Resume is not supported on this system.
func (s *Server) Resume() error { return errUnsupported }
