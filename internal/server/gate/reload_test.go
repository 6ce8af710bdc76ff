// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
)

const policyOfA = "version: 1\ngrants:\n  - roles: viewer\n    to: uid:1000\n    on: prefix:team/a/\n"

// reloading is a gate whose policy is in a file.
func reloading(t *testing.T) (g *Gate, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "policy.yaml")
	put(t, file, policyOfA)
	g, err := New(Config{Path: file, Logger: slog.New(slog.DiscardHandler),
		Spec:   func(string) (ledger.Spec, error) { return ledger.Spec{}, ledger.ErrNotFound },
		Record: func([]byte) (uint64, error) { return 0, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return g, file
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g *Gate) lets(principal, name string) bool {
	_, err := g.Enter("/accountant.v1.Ledgers/GetLedger",
		Identity{Caller: access.Caller{Principal: principal}}, asking(name))
	return err == nil
}

type asking string

func (n asking) GetName() string { return string(n) }

// A policy that is written in pieces grants more in between than at its end: "prefix:team/" is the
// beginning of "prefix:team/a/", and "uid:1" that of "uid:1000". So what is found once does not count
// before it is found again, unless somebody says that it is complete.
func TestHalfWrittenPolicy(t *testing.T) {
	t.Parallel()
	whole := strings.ReplaceAll(policyOfA, "team/a/", "team/b/c/")
	for cut := range len(whole) {
		g, file := reloading(t)
		put(t, file, whole[:cut])
		g.Reload(false)
		if g.lets("uid:1000", "team/other") || g.lets("uid:1", "team/a/x") || !g.lets("uid:1000", "team/a/x") {
			t.Fatalf("the first %d bytes of a policy are in force:\n%s", cut, whole[:cut])
		}
		put(t, file, whole)
		g.Reload(false)
		g.Reload(false)
		if !g.lets("uid:1000", "team/b/c/x") || g.lets("uid:1000", "team/a/x") {
			t.Fatal("the whole policy is not in force when it was found again")
		}
	}
	g, file := reloading(t)
	put(t, file, whole)
	g.Reload(true)
	if !g.lets("uid:1000", "team/b/c/x") {
		t.Error("the whole policy is not in force when somebody says that it is complete")
	}
}
