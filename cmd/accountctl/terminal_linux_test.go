// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// terminal makes a pseudo-terminal (pty(7)): the keyboard and screen, and the end that a
// program has.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// onTerminal runs accountctl with a person who types, and returns what the person saw
// and the exit status.
func onTerminal(t *testing.T, server, typed string, args ...string) (screen string, status int) {
	t.Helper()
	person, program := terminal(t)
	c := exec.Command(os.Args[0])
	c.Args = append([]string{"accountctl", "--server", server}, args...) // by its name TestMain knows the command
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = program.Close()
	if _, err := io.WriteString(person, typed); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	var seen bytes.Buffer
	_, _ = io.Copy(&seen, person) // ends with EIO when the program has
	_ = c.Wait()
	return strings.ReplaceAll(seen.String(), "\r\n", "\n"), c.ProcessState.ExitCode()
}

// A slip ended a parent with two children. On a terminal the command says what it will
// charge, and does nothing before somebody has agreed.
func TestCloseAsks(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(t.TempDir(), "s")}})
	create := func(name, parent string, n uint32) {
		spec := servertest.Plan(name, servertest.Pure(0.01, n))
		spec.Parent = parent
		s.Create(spec)
	}
	create("parent", "", 100)
	create("parent/a", "parent", 20)
	create("parent/b", "parent", 30)
	if _, err := s.Client.Reserve(servertest.Context(t),
		&accountantv1.ReserveRequest{
			Lane: &accountantv1.Lane{Ledger: "parent", Writer: servertest.Writer(), Sequence: 1},
			Reserve: &accountantv1.Reserve{Events: []*accountantv1.Event{servertest.Pure(0.01, 7)},
				LifetimeSeconds: 3600},
		}); err != nil {
		t.Fatal(err)
	}
	closed := func() bool { return s.Ledger("parent").GetClosed() }
	for _, typed := range []string{"\n", "n\n", "parent\n", "\x04"} {
		screen, status := onTerminal(t, s.Addr, typed, "ledger", "close", "parent")
		if status != cli.ExitFailed || closed() ||
			!strings.Contains(screen, "accountctl: ledger parent was not closed\n") {
			t.Fatalf("typed %q: status %d, closed %v\n%s", typed, status, closed(), screen)
		}
		for _, want := range []string{"final", "7 × pure_dp", "child ledgers", "  parent/a  20 × pure_dp",
			"  parent/b  30 × pure_dp", "Close ledger parent? [y/N] "} {
			if !strings.Contains(screen, want) {
				t.Errorf("the screen lacks %q:\n%s", want, screen)
			}
		}
	}
	if screen, status := onTerminal(t, s.Addr, "y\n", "ledger", "close", "parent", "--request-id",
		"end"); status != cli.ExitDone || !closed() {
		t.Fatalf("typed y: status %d\n%s", status, screen)
	}
	// The same command again gets the first receipt, and has nothing to ask.
	if screen, status := onTerminal(t, s.Addr, "", "ledger", "close", "parent", "--request-id",
		"end"); status != cli.ExitDone || strings.Contains(screen, "y/N") {
		t.Fatalf("again: status %d\n%s", status, screen)
	}
	if screen, status := onTerminal(t, s.Addr, "", "ledger", "close", "parent/a", "--yes"); status != cli.ExitDone ||
		strings.Contains(screen, "y/N") {
		t.Fatalf("--yes: status %d\n%s", status, screen)
	}
}
