// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// killRounds, set in the environment, is how often TestKillRounds and TestDatasetKillRounds kill, and
// ten times as often as TestColdKillRounds does: 100 times in .ci/run, thousands of times in make soak.
const killRounds = "ACCOUNTANT_KILL_ROUNDS"

// roundsOfStore is how often a store's daemon is killed before the next store:
// each round verifies all that is there.
const roundsOfStore = 100

// Clients stream for as long as the test lasts, others write whatever else there is to
// write, and the daemon is killed again and again, after some more charges, or while it
// starts. After each death the whole file verifies; what was acknowledged is in it once,
// with its receipt.
func TestKillRounds(t *testing.T) {
	rounds, seed := killsWanted(t, 5)
	for done := 0; done < rounds; done += roundsOfStore {
		n := min(roundsOfStore, rounds-done)
		t.Run(fmt.Sprintf("seed %d", seed),
			func(t *testing.T) { killAgainAndAgain(t, n, rand.New(rand.NewPCG(seed, 0))) })
		seed++
	}
}

// killsWanted is how often to kill, and the first seed.
func killsWanted(t *testing.T, byDefault int) (rounds int, seed uint64) {
	t.Helper()
	if rounds, seed = byDefault, 1; os.Getenv(killRounds) != "" {
		var err error
		if rounds, err = strconv.Atoi(os.Getenv(killRounds)); err != nil {
			t.Fatalf("%s: %v", killRounds, err)
		}
		if os.Getenv("RAPID_SEED") == "" { // which runs set that are to be repeatable
			seed = uint64(time.Now().UnixNano())
		}
	}
	return rounds, seed
}

func killAgainAndAgain(t *testing.T, rounds int, random *rand.Rand) {
	dir := dataDir(t)
	d := start(t, dir)
	target := "unix:" + d.ready["socket"]
	client := dial(t, target)
	ledgers := []string{"soak/a", "soak/b"}
	for _, name := range ledgers {
		create(t, client, name)
	}
	l := startLoad(t, target, 4, ledgers...)
	clerks := l.addClerks(t, target, "soak/1", "soak/2", "soak/3", "soak/4")
	for range rounds {
		l.more(t, random.Uint64N(50))
		d.kill()
		verified(t, dir)
		if random.IntN(4) == 0 {
			killEarly(t, dir, time.Duration(random.Int64N(int64(100*time.Millisecond))))
			verified(t, dir)
		}
		if t.Failed() {
			return
		}
		d = start(t, dir)
	}
	l.giveUp()
	if l.acknowledged() == 0 {
		t.Error("nothing was acknowledged: nothing tested")
	}
	entries := checkTrainers(t, client, l, ledgers)
	writes := checkClerks(t, clerks)
	d.stop(syscall.SIGTERM)
	verified(t, dir)
	t.Logf("%d kills, %d streamed charges acknowledged, %d written; %d other writes acknowledged", rounds,
		l.acknowledged(), entries, writes)
}

// killEarly kills a daemon a while after it was started, ready or not.
func killEarly(t *testing.T, dir string, after time.Duration, with ...string) {
	t.Helper()
	c := exec.Command(binary, append([]string{"--listen", "127.0.0.1:0", "--http", "", "--data", dir}, with...)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after) // any time will do
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // killed
}
