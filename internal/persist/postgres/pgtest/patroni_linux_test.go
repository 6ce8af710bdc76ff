// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"os"
	"testing"
	"time"
)

// TestPatroni: when the primary's server is killed, another node becomes the primary, and the old one its standby.
func TestPatroni(t *testing.T) {
	if testing.Short() || os.Getenv("FAILOVERS") == "" {
		t.Skip("it takes 20 s; FAILOVERS=1 runs it")
	}
	start := time.Now()
	p := StartPatroni(t, PatroniConfig{Nodes: 3, Synchronous: true})
	t.Log("up", time.Since(start))
	one, err := p.AwaitPrimary(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	if err := one.KillServer(); err != nil {
		t.Fatal(err)
	}
	two, err := p.AwaitPrimary(time.Minute, one)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(one.Name(), two.Name(), time.Since(start))
	if err := p.AwaitStandbys(time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Log("standbys", time.Since(start))
}
