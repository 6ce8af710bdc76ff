// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// The policy of a daemon's start cannot be recorded, as on a full disk, and then there is room again. Whatever
// is written afterwards stands behind the policy under which it was accepted: an audit would otherwise compare
// it with the policy before, or with none.
func TestNothingIsWrittenUnderAnUnrecordedPolicy(t *testing.T) {
	t.Parallel()
	var full atomic.Bool // for policies alone: others would have room again
	policies := func(batch []ledger.Proposal) memory.Failure {
		isPolicy := batch == nil // nothing else creates a ledger here while the disk is full
		for _, p := range batch {
			isPolicy = isPolicy || p.Ledger == ledger.AccessLedger
		}
		if full.Load() && isPolicy {
			return memory.Unavailable
		}
		return memory.None
	}
	dir := t.TempDir()
	g := &guarded{t: t, file: filepath.Join(dir, "policy.yaml"), reload: make(chan struct{}), log: &testaid.Log{}}
	g.write(reporterOnA)
	config := servertest.Config{Store: memory.New(memory.Config{Plan: policies}), Server: server.Config{
		AccessPolicy: g.file, Reload: g.reload, Socket: filepath.Join(dir, "own"),
		Logger: slog.New(slog.NewTextHandler(g.log, nil))}}
	g.Server = servertest.StartWith(t, config)
	g.Owner = g.Server.Owner(t)
	g.create(servertest.Spec("a"))
	second := "# the second\n" + reporterOnA
	full.Store(true)
	g.write(second)
	g.Restart()
	owner := g.Server.Owner(t)
	closing := &pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Close: &pb.Close{}}
	_, err := owner.CloseLedger(servertest.Context(t), closing)
	wantError(t, err, codes.Unavailable, "the access policy is not recorded yet")
	if _, err := owner.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "a"}); err != nil {
		t.Errorf("what writes nothing: %v", err)
	}
	says, err := owner.GetAccess(servertest.Context(t), &pb.GetAccessRequest{})
	if err != nil || !strings.Contains(says.GetProblem(), "cannot be recorded") {
		t.Errorf("problem %q, %v", says.GetProblem(), err)
	}
	full.Store(false)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err = owner.CloseLedger(servertest.Context(t), closing); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	page, err := owner.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: ledger.AccessLedger})
	if n := len(page.GetEntries()); err != nil || n != 2 ||
		!bytes.Equal(page.GetEntries()[1].GetAccessPolicy().GetText(), []byte("version: 1\n"+second)) {
		t.Errorf("%d policies are recorded, %v; want both", n, err)
	}
	if says, err = owner.GetAccess(servertest.Context(t), &pb.GetAccessRequest{}); says.GetProblem() != "" {
		t.Errorf("problem %q, %v, after it was recorded", says.GetProblem(), err)
	}
}

// A policy that was replaced may come back with an old copy of its file. The log says so when it does.
func TestAnOlderPolicyIsTold(t *testing.T) {
	t.Parallel()
	g := guard(t, reporterOnA)
	g.change("grants: []\n")
	const says = "put in force again"
	if log := g.log.String(); strings.Contains(log, says) {
		t.Errorf("a new policy is called old:\n%s", log)
	}
	g.write(reporterOnA)
	g.Restart()
	if log := g.log.String(); strings.Count(log, says) != 1 || !strings.Contains(log, "recorded_at=1") {
		t.Errorf("an old policy at the start:\n%s", log)
	}
	g.Restart()
	if log := g.log.String(); strings.Count(log, says) != 1 {
		t.Errorf("the same policy at another start:\n%s", log)
	}
}
