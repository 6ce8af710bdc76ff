// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience is how long the daemon may take to start or to stop.
const patience = 30 * time.Second

// daemon is an accountantd with a directory of its own.
type daemon struct {
	binary, dir string
	address     string // HOST:PORT once it was ready; the same after a restart
	command     *exec.Cmd
	exited      chan struct{} // closed when the process has ended
}

// start starts the daemon and waits for its line on standard output. Its log
// goes to a file beside the data.
func (d *daemon) start(ctx context.Context) error {
	listen := d.address
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	log, err := os.OpenFile(d.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the daemon has its own
	d.command = exec.Command(d.binary, "--listen", listen, "--http", "", "--data", filepath.Join(d.dir, "data"))
	d.command.Stderr = log
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.command.Start(); err != nil {
		return fmt.Errorf("accountantd: %w", err)
	}
	lines := make(chan string, 1)
	exited, command := make(chan struct{}), d.command
	d.exited = exited
	go func() {
		defer close(exited)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			select {
			case lines <- in.Text():
			default:
			}
		}
		_ = command.Wait() // ProcessState has the outcome
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case line := <-lines:
		return d.ready(line)
	case <-d.exited:
		return d.broken("ended before it was ready")
	case <-late.C:
		return d.broken("was not ready in time")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ready reads the address from the daemon's line.
func (d *daemon) ready(line string) error {
	for _, word := range strings.Fields(line) {
		if address, ok := strings.CutPrefix(word, "listen="); ok {
			d.address = address
			return nil
		}
	}
	return d.broken(fmt.Sprintf("printed %q; allowed: a line with listen=…", line))
}

// kill ends the daemon as a power cut would.
func (d *daemon) kill() error {
	if err := d.command.Process.Kill(); err != nil {
		return fmt.Errorf("accountantd: %w", err)
	}
	<-d.exited
	return nil
}

// stop ends the daemon in order and checks that it did.
func (d *daemon) stop() error {
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return d.broken(err.Error())
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-d.exited:
	case <-late.C:
		return errors.Join(d.broken("did not stop in time"), d.kill())
	}
	if code := d.command.ProcessState.ExitCode(); code != 0 {
		return d.broken(fmt.Sprintf("ended with status %d", code))
	}
	return nil
}

// abandon ends the daemon if it still runs, after something else went wrong.
func (d *daemon) abandon() {
	if d.command == nil || d.command.Process == nil {
		return
	}
	select {
	case <-d.exited:
	default:
		_ = d.kill()
	}
}

func (d *daemon) log() string { return filepath.Join(d.dir, "accountantd.log") }

// broken says what went wrong and what the daemon logged last.
func (d *daemon) broken(what string) error {
	log, err := os.ReadFile(d.log())
	if err != nil {
		log = []byte(err.Error())
	}
	const most = 2000
	return fmt.Errorf("accountantd %s; its log ends with:\n%s", what, log[max(0, len(log)-most):])
}
