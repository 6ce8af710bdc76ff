// SPDX-License-Identifier: Apache-2.0

// Command digits trains a classifier of handwritten digits with DP-SGD and
// reports every step to accountantd.
//
//	go run ./examples/digits                                       # a daemon on 127.0.0.1:7878
//	go run ./examples/digits -demo -accountantd bin/accountantd    # with a daemon of its own
//
// README.md tells what it shows and where the images come from.
package main

import (
	"context"
	crand "crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// delta is the δ at which the run asks for ε: well below 1/1500.
const delta = 1e-5

// options are the flags.
type options struct {
	demo        bool
	allocation  bool
	accountantd string
	server      string
	ledger      string
	stepTime    time.Duration
	seed        uint64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{}
	s := publicSettings()
	f := flag.NewFlagSet("digits", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.demo, "demo", false,
		"start a daemon on an empty directory, kill and restart it half way, stop it at the end")
	f.StringVar(&o.accountantd, "accountantd", "bin/accountantd", "the daemon's binary, for -demo")
	f.StringVar(&o.server, "server", "", "the daemon, HOST:PORT or unix:PATH (default 127.0.0.1:7878)")
	f.StringVar(&o.ledger, "ledger", "examples/digits", "the ledger to report to; made if missing")
	f.IntVar(&s.steps, "steps", s.steps, "how many steps to train")
	f.BoolVar(&o.allocation, "allocation", false,
		"deal every image into one batch of each epoch (random allocation), in the place of Poisson samples")
	f.DurationVar(&o.stepTime, "step-time", -1, "let a step take at least this long (default 20ms with -demo, else 0)")
	f.Uint64Var(&o.seed, "seed", 0,
		"for tests only, NOT private: the same noise every time (default: the system's randomness)")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("argument: %q; allowed: flags only", f.Arg(0))
	case s.steps < 1 || s.steps > 1e6:
		return fmt.Errorf("-steps: %d; allowed: 1 to 1,000,000", s.steps)
	case o.demo && o.allocation:
		return errors.New("-demo and -allocation; allowed: one of them, since the demonstration looks for each " +
			"step in the ledger, which has an entry for each epoch")
	}
	if o.allocation {
		s = s.allocated()
	}
	if o.stepTime < 0 {
		o.stepTime = 0
		if o.demo { // a real model's steps take time, and there is something to watch
			o.stepTime = 20 * time.Millisecond
		}
	}
	out := &screen{out: stdout}
	if o.demo {
		return demonstrate(ctx, o, s, out)
	}
	return trainAndTell(ctx, o, s, out, nil)
}

// trainAndTell trains and shows what came of it. hook, if not nil, is called
// after every step.
func trainAndTell(ctx context.Context, o options, s settings, out *screen,
	hook func(step int, stream *client.Stream) error) error {
	train, test, err := loadDigits()
	if err != nil {
		return err
	}
	c, err := client.New(client.Config{Server: o.server, Principal: "digits"})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	// Impatience only where a person waits for a daemon that is not there.
	first, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := c.CreateLedger(first, spec(o.ledger)); err != nil {
		return err
	}
	out.start(o, s)
	t := &training{settings: s, data: train, random: newRandom(o.seed), ledger: o.ledger, stepTime: o.stepTime,
		after: func(step int, stream *client.Stream) error {
			out.progress(step, stream.Status().Acknowledged)
			if hook != nil {
				return hook(step, stream)
			}
			return nil
		}}
	m, err := t.run(ctx, c)
	if err != nil {
		return err
	}
	out.accuracy(m.accuracy(test), len(test))
	if err := checkLane(ctx, c, o.ledger, s.charges()); err != nil {
		return err
	}
	answer, err := c.Query(ctx, o.ledger, client.Delta(delta))
	if err != nil {
		return err
	}
	ledger, err := c.GetLedger(ctx, o.ledger)
	if err != nil {
		return err
	}
	out.privacy(ledger.Ledger, answer, s)
	return nil
}

// spec describes the ledger. The unit of privacy is one image: one training
// example more or less.
func spec(name string) *pb.LedgerSpec {
	return &pb.LedgerSpec{
		Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "example",
		DatasetId: "optical-recognition-of-handwritten-digits", DatasetVersion: "1998, test set, 1,500 rows",
	}
}

// newRandom is a generator for the sampling and the noise: ChaCha8, a
// cryptographic one, seeded by the system. Whoever can predict it can subtract
// the noise, so a given seed is for tests only.
func newRandom(seed uint64) *rand.Rand {
	var key [32]byte
	_, _ = crand.Read(key[:]) // never fails
	if seed != 0 {
		key = [32]byte{}
		for i := range 8 {
			key[i] = byte(seed >> (8 * i))
		}
	}
	return rand.New(rand.NewChaCha8(key))
}
