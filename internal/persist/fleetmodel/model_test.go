// SPDX-License-Identifier: Apache-2.0

package fleetmodel

import (
	"os"
	"strings"
	"testing"
)

// worlds are the bounds within which every state is visited. The long ones take minutes.
var worlds = []struct {
	name  string
	long  bool
	world World
}{
	{"two charges", false, World{Budget: 2, Clients: 2, Attempts: 2, Cancels: 1, Cuts: 1, Zombie: true}},
	{"one of two fits", false, World{Budget: 1, Clients: 2, Attempts: 2, Cancels: 1, Cuts: 1, Zombie: true}},
	{"restart", false, World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 2, Cancels: 1, Restarts: 1, Zombie: true}},
	{"daemon killed", false, World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Cancels: 1, Kills: 1, Zombie: true}},
	{"question", false, World{Budget: 2, Clients: 1, Attempts: 1, Cuts: 1, Cancels: 1, Asked: true, Zombie: true}},
	{"question, old primary gone", false, World{Budget: 2, Clients: 1, Attempts: 2, Cancels: 1, Asked: true}},

	{"merges", false, World{Budget: 2, Clients: 2, Attempts: 1, Cuts: 1, Cancels: 1, Merges: 1, Zombie: true}},
	{"merge and restart", false,
		World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Cancels: 1, Restarts: 1, Merges: 1, Zombie: true}},
	{"asynchronous standby", false,
		World{Budget: 2, Clients: 2, Attempts: 1, Asked: true, Async: true}},

	{"merges and retries", true,
		World{Budget: 2, Clients: 2, Attempts: 2, Cuts: 1, Cancels: 1, Merges: 2}},
	{"killed and restarted", true,
		World{Budget: 2, Clients: 1, Attempts: 3, Cuts: 1, Cancels: 1, Restarts: 1, Kills: 1, Zombie: true}},
	{"question and two charges", true,
		World{Budget: 2, Clients: 2, Attempts: 1, Cancels: 1, Restarts: 1, Asked: true, Zombie: true}},
	{"question, restart and cut", true,
		World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Cancels: 1, Restarts: 1, Asked: true, Zombie: true}},
}

// modelWorlds, set to "long", visits the long worlds too, in a few minutes and 8 GB.
const modelWorlds = "ACCOUNTANT_MODEL"

func TestRulesKeepPromises(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			if w.long && os.Getenv(modelWorlds) != "long" {
				t.Skipf("%s=long visits this one, too", modelWorlds)
			}
			r := Explore(All, w.world)
			if t.Logf("%d states", r.States); r.Broken != Kept {
				t.Fatalf("broken: %v\n%s", r.Broken, strings.Join(r.Steps, "\n"))
			}
		})
	}
}

// TestEachRuleIsNeeded leaves out one rule after the other. It names the promise that breaks
// without the rule, and the last step of the shortest way to that.
func TestEachRuleIsNeeded(t *testing.T) {
	writes := World{Budget: 2, Clients: 2, Attempts: 2, Cuts: 1, Cancels: 1, Zombie: true}
	asks := World{Budget: 2, Clients: 1, Attempts: 2, Cancels: 1, Asked: true, Zombie: true}
	lossy := World{Budget: 2, Clients: 2, Attempts: 1, Async: true}
	lossyQuestion := World{Budget: 2, Clients: 1, Attempts: 1, Asked: true, Async: true}
	merges := World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Merges: 1, Zombie: true}
	quiet := World{Budget: 2, Clients: 1, Attempts: 2, Asked: true, Zombie: true}
	for _, c := range []struct {
		rule    string
		without func(*Rules)
		world   World
		broken  Promise
		last    string
	}{
		{"Compare", func(r *Rules) { r.Compare = false }, writes, Once, "daemon 1: COMMIT arrives"},
		{"Locked", func(r *Rules) { r.Locked = false }, writes, NotWritten, "cut session of 0: COMMIT arrives"},
		{"Fence", func(r *Rules) { r.Fence = false }, writes, NotWritten, "cut session of 0: COMMIT arrives"},
		{"Warning", func(r *Rules) { r.Warning = false }, writes, Durable,
			"daemon 0: is told of its commit, with a warning"},
		{"CoverResolved", func(r *Rules) { r.CoverResolved = false }, writes, Durable, "daemon 0 resolves"},
		{"CoverDenied", func(r *Rules) { r.CoverDenied = false }, writes, NotWritten,
			"cut session of 0: COMMIT arrives"},
		{"CoverDuplicate", func(r *Rules) { r.CoverDuplicate = false }, writes, Durable,
			"daemon 1 acknowledges a duplicate"},
		{"Fresh", func(r *Rules) { r.Fresh = false }, asks, Complete, "answer from memory"},
		{"CoverAnswer", func(r *Rules) { r.CoverAnswer = false }, asks, Shown, "question is answered"},
		{"CoverAnswer, for the old primary", func(r *Rules) { r.CoverAnswer = false }, quiet, Complete,
			"question is answered"},
		{"Entries", func(r *Rules) { r.Entries = false }, merges, NotWritten,
			"daemon 0 begins a synchronous write"},
		{"SameSession", func(r *Rules) { r.SameSession = false }, writes, Durable,
			"daemon 0 begins a synchronous write"},
		{"Tell", func(r *Rules) { r.Tell = false }, lossy, Told, "daemon 0: is told of its commit"},
		{"Tell, for a question", func(r *Rules) { r.Tell = false }, lossyQuestion, Told,
			"question's synchronous write to server 1"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			rules := All
			c.without(&rules)
			r := Explore(rules, c.world)
			if r.Broken != c.broken || r.Steps[len(r.Steps)-1] != c.last {
				t.Errorf("broken: %v; want %v by %q\n%s", r.Broken, c.broken, c.last, strings.Join(r.Steps, "\n"))
			}
		})
	}
}

// TestBarrier shows what one synchronous write after each connection is good for by itself, without
// those that cover what is read: it is enough after a restart or a promotion, as long as no wait is
// cancelled and the old primary is gone.
func TestBarrier(t *testing.T) {
	barrier := All
	barrier.Barrier, barrier.CoverDuplicate = true, false
	nothing := barrier
	nothing.Barrier = false
	restarts := World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Restarts: 1}
	cancels := World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Cancels: 1}
	for _, c := range []struct {
		name  string
		rules Rules
		world World
		want  Promise
	}{
		{"without it a restart shows what is lost later", nothing, restarts, Durable},
		{"with it not", barrier, restarts, Kept},
		{"it came before the wait that is cancelled", barrier, cancels, Durable},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := Explore(c.rules, c.world); r.Broken != c.want {
				t.Errorf("%v; want %v\n%s", r.Broken, c.want, strings.Join(r.Steps, "\n"))
			}
		})
	}
}

// TestSparedAnswer shows where a question's synchronous write can be left out because the head is
// known to be replicated: where the old primary is certain to be gone.
func TestSparedAnswer(t *testing.T) {
	spared := All
	spared.SparedAnswer = true
	world := World{Budget: 2, Clients: 1, Attempts: 2, Cancels: 1, Asked: true}
	if r := Explore(spared, world); r.Broken != Kept {
		t.Errorf("%v\n%s", r.Broken, strings.Join(r.Steps, "\n"))
	}
	world.Zombie = true
	if r := Explore(spared, world); r.Broken != Complete {
		t.Errorf("an old primary that answers: %v; want %v", r.Broken, Complete)
	}
}

// TestFenceWrites shows the other way to resolve: the fence changes what commits compare. Then lock,
// comparison and COMMIT may be sent together.
func TestFenceWrites(t *testing.T) {
	rules := All
	rules.Locked, rules.FenceWrites = false, true
	world := World{Budget: 2, Clients: 1, Attempts: 2, Cuts: 1, Cancels: 1, Restarts: 1, Zombie: true}
	if r := Explore(rules, world); r.Broken != Kept {
		t.Errorf("%v\n%s", r.Broken, strings.Join(r.Steps, "\n"))
	}
}
