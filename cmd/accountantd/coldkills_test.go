// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// The daemon is killed while entries leave its file, while they are archived, and while it starts, with keys and
// without. After each death the file verifies with what has left it, and a store can be made of the archive. In the end
// what was acknowledged is there once, with its receipt, and the archive has the same as the file.
func TestColdKillRounds(t *testing.T) {
	rounds, seed := killsWanted(t, 30)
	rounds = max(1, rounds/10) // each takes seconds
	for done := 0; done < rounds; done += coldRounds {
		n := min(coldRounds, rounds-done)
		t.Run(fmt.Sprintf("seed %d", seed),
			func(t *testing.T) { killWhileMoving(t, n, rand.New(rand.NewPCG(seed, 2))) })
		seed++
	}
}

// coldRounds is how often a store's daemon is killed before the next store.
const coldRounds = 40

// labelled is a step of a client that packs cannot make small.
func labelled(writer string, sequence uint64) *pb.Charge {
	c := charge()
	c.Labels = randomLabels(rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(writer))), sequence)))
	return c
}

func killWhileMoving(t *testing.T, rounds int, random *rand.Rand) {
	dir, away, kept := dataDir(t), filepath.Join(t.TempDir(), "away"), filepath.Join(t.TempDir(), "kept")
	with := []string{"--cold", away, "--cold-after", "0s", "--archive", kept, "--archive-interval", "1s"}
	key := filepath.Join(t.TempDir(), "key")
	if random.IntN(2) == 0 {
		identity, err := age.GenerateX25519Identity()
		if err := errors.Join(err, os.WriteFile(key, []byte(identity.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
		with = append(with, "--cold-key", key, "--archive-key", key)
	} else {
		key = ""
	}
	d := start(t, dir, with...)
	target := "unix:" + d.ready["socket"]
	client := dial(t, target)
	ledgers := []string{"soak/a", "soak/b"}
	for _, name := range ledgers {
		create(t, client, name)
	}
	l := startLoadOf(t, target, 2, labelled, ledgers...)
	clerks := l.addClerks(t, target, "soak/1")
	for range rounds {
		l.more(t, random.Uint64N(300))
		time.Sleep(time.Duration(random.Int64N(int64(time.Second)))) // any time will do
		d.kill()
		if said := d.stderr.String(); strings.Contains(said, "level=ERROR") {
			t.Error(said)
		}
		verified(t, dir)
		archivedBy(t, kept, key)
		if random.IntN(4) == 0 {
			killEarly(t, dir, time.Duration(random.Int64N(int64(200*time.Millisecond))), with...)
			verified(t, dir)
			archivedBy(t, kept, key)
		}
		if t.Failed() {
			return
		}
		d = start(t, dir, with...)
	}
	l.finish()
	entries := checkTrainers(t, client, l, ledgers)
	if steps := l.acknowledged(); uint64(entries) != steps {
		t.Errorf("%d entries; want %d", entries, steps)
	}
	writes := checkClerks(t, clerks)
	d.stop(syscall.SIGTERM)
	verified(t, dir)
	if archivedBy(t, kept, key) != contents(t, filepath.Join(dir, persist.FileName)) {
		t.Error("the archive does not have what the store has")
	}
	segments, err := filepath.Glob(filepath.Join(away, "*.cold"))
	if err != nil || rounds >= coldRounds && len(segments) == 0 {
		t.Errorf("%v, %v: nothing has moved, nothing tested", segments, err)
	}
	t.Logf("%d kills, %d streamed charges, %d other writes, %d segments of old entries", rounds, entries, writes,
		len(segments))
}
