// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// binary is the real daemon, built once, in a directory that goes when the tests have ended.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "accountantd")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		binary = filepath.Join(dir, "accountantd")
		if err := build("."); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build makes a command beside the daemon.
func build(command string) error {
	args := append(append([]string{"build"}, buildFlags...), "-o", filepath.Dir(binary)+"/", command)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

var buildAccountctl = sync.OnceValue(func() error { return build("../accountctl") })

// accountctlBinary returns the path of accountctl, which the first test that needs it builds.
func accountctlBinary(t *testing.T) string {
	t.Helper()
	if err := buildAccountctl(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(filepath.Dir(binary), "accountctl")
}

// dataDir is a directory whose path leaves room for the socket's name.
func dataDir(t *testing.T) string { return testaid.ShortDir(t) }

// daemon is a running accountantd.
type daemon struct {
	t       *testing.T
	command *exec.Cmd
	ready   map[string]string // the ready line's fields
	stderr  *testaid.Log
	done    chan error // the result of Wait
}

// start runs the daemon on free ports and waits until it is ready.
func start(t *testing.T, dir string, args ...string) *daemon {
	t.Helper()
	return startBy(t, binary,
		append([]string{"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", dir}, args...)...)
}

// startBy is start by a command of its own.
func startBy(t *testing.T, command string, args ...string) *daemon {
	t.Helper()
	return startCommand(t, exec.Command(command, args...))
}

// startCommand is startBy of a command with attributes of its own.
func startCommand(t *testing.T, command *exec.Cmd) *daemon {
	t.Helper()
	d, err := tryCommand(t, command)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tryCommand is startCommand of a daemon that may end instead of getting ready.
func tryCommand(t *testing.T, command *exec.Cmd) (*daemon, error) {
	t.Helper()
	d := &daemon{t: t, command: command, stderr: &testaid.Log{}, done: make(chan error, 1), ready: map[string]string{}}
	d.command.Stderr = d.stderr
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = d.command.Process.Kill() // already gone in a good test
		<-d.done
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() { d.done <- d.command.Wait(); close(d.done) }()
	if err != nil {
		return nil, fmt.Errorf("no ready line: %w\n%s", err, d.stderr)
	}
	if !strings.HasPrefix(line, "accountantd ready ") {
		return nil, fmt.Errorf("ready line %q", line)
	}
	for _, field := range strings.Fields(line)[2:] {
		key, value, _ := strings.Cut(field, "=")
		d.ready[key] = value
	}
	return d, nil
}

// kill is a SIGKILL.
func (d *daemon) kill() {
	d.t.Helper()
	if err := d.command.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	<-d.done
}

// stop is a signal that asks to stop; it expects exit status 0.
func (d *daemon) stop(signal syscall.Signal) {
	d.t.Helper()
	if err := d.command.Process.Signal(signal); err != nil {
		d.t.Fatal(err)
	}
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Errorf("after %v: %v\n%s", signal, err, d.stderr)
		}
	case <-time.After(5 * time.Minute):
		d.t.Fatalf("still there five minutes after %v\n%s", signal, d.stderr)
	}
}

// dial connects to an address and reconnects quickly.
func dial(t *testing.T, target string) api.Client {
	t.Helper()
	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 10 * time.Second,
			Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return api.NewClient(conn)
}

func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // machines can be loaded
	t.Cleanup(cancel)
	return ctx
}

func create(t *testing.T, client api.Client, name string) {
	t.Helper()
	_, err := client.CreateLedger(patiently(t), &pb.CreateLedgerRequest{
		Spec: &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}})
	if err != nil {
		t.Fatal(err)
	}
}

// charge is what every client reports: a step of DP-SGD.
func charge() *pb.Charge {
	q, z := 0.01, 1.0
	return &pb.Charge{Events: []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
		PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q, Mechanism: &pb.Mechanism{
			Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &z}}}}}}}}}
}

// exitCode runs the daemon to its end.
func exitCode(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // machines can be loaded
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}
