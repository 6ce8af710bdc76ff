// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/dpaccountant/accountant/client"
)

// demonstrate trains against a daemon of its own, kills it half way with
// SIGKILL, restarts it on the same file while training goes on, and checks that
// every step is in the ledger exactly once.
func demonstrate(ctx context.Context, o options, s settings, out *screen) (err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "accountant-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &daemon{binary: o.accountantd, dir: dir}
	defer d.abandon()
	if err := d.start(ctx); err != nil {
		return err
	}
	o.server = d.address

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	crash := &crash{daemon: d, at: s.steps / 2, out: out, giveUp: cancel}
	if err := trainAndTell(ctx, o, s, out, crash.after(ctx)); err != nil {
		return errors.Join(crash.settle(), err)
	}
	if err := crash.settle(); err != nil {
		return err
	}
	if err := checkLedger(ctx, o, s.steps); err != nil {
		return err
	}
	if err := d.stop(); err != nil {
		return err
	}
	fmt.Fprintf(out.out, "  Killed half way, nothing lost, nothing charged twice: %d steps made, %d in the ledger "+
		"(%.0f s).\n\n",
		s.steps, s.steps, time.Since(began).Seconds())
	fmt.Fprint(out.out, next)
	return nil
}

// next is what somebody who has seen the demonstration may want to do.
const next = `  What to try next:
    bin/accountctl compute dp-sgd --noise-multiplier 1.1 --batch-size 256 \
        --dataset-size 60000 --epochs 60 --delta 1e-6    an ε, without a server
    make run                                             a server that stays
    docs/first-training.md                               your own training run

`

// crash kills the daemon after a step and brings it back beside the training.
type crash struct {
	daemon *daemon
	at     int
	out    *screen
	giveUp func()     // ends the training if the daemon does not come back
	back   chan error // holds the outcome of the restart; nil until the crash
	told   bool
}

func (c *crash) after(ctx context.Context) func(int, *client.Stream) error {
	return func(step int, stream *client.Stream) error {
		switch {
		case step == c.at:
			if err := c.daemon.kill(); err != nil {
				return err
			}
			st := stream.Status()
			c.out.say(step, fmt.Sprintf("SIGKILL to the daemon; %d steps are acknowledged, %d on their way",
				st.Acknowledged, st.Outstanding))
			c.back = make(chan error, 1)
			go func() {
				err := c.daemon.start(ctx)
				if err != nil {
					c.giveUp()
				}
				c.back <- err
			}()
		case c.back != nil && !c.told && stream.Status().Connections > 1:
			c.told = true
			c.out.say(step, "the daemon is back on the same file, the stream has resumed")
		}
		return nil
	}
}

// settle waits for the restart, if there was one.
func (c *crash) settle() error {
	if c.back == nil {
		return nil
	}
	err := <-c.back
	c.back = nil
	return err
}

// checkLedger reads the whole ledger: every step once, and nothing else.
func checkLedger(ctx context.Context, o options, steps int) error {
	c, err := client.New(client.Config{Server: o.server})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	seen := make([]int, steps+1)
	for e, err := range c.Entries(ctx, o.ledger, client.EntriesOptions{PageSize: 1000}) {
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(e.GetCharge().GetLabels()["step"])
		if err != nil || n < 1 || n > steps {
			return fmt.Errorf("entry %d: step %q; allowed: 1 to %d", e.GetPosition(),
				e.GetCharge().GetLabels()["step"], steps)
		}
		seen[n]++
	}
	for n := 1; n <= steps; n++ {
		if seen[n] != 1 {
			return fmt.Errorf("step %d is in the ledger %d times; allowed: once", n, seen[n])
		}
	}
	l, err := c.GetLedger(ctx, o.ledger)
	if err != nil {
		return err
	}
	if l.GetLedger().GetTotalCount() != uint64(steps) {
		return fmt.Errorf("the ledger's total is %d; made: %d steps", l.GetLedger().GetTotalCount(), steps)
	}
	return nil
}
