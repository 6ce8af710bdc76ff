// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A rule of the access policy holds on every daemon of the store, also on one that was started without it. A rule
// of one daemon alone is a problem, which that daemon tells.
func TestFleetKeepsTheRulesOfThePolicy(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{}).Shared()
	careless := daemonOf(t, store, "")
	everybody := "grants:\n  - {roles: [manager, reporter], to: 'unverified:**', on: everything}\n"
	strict := daemonOf(t, store, everybody+"store: {require_dataset: true, fair_calls: 1}\n")
	tries := 0
	create := func(g *guarded) error { // a new ledger each time
		tries++
		_, err := g.Client.CreateLedger(as(t, "job"), &pb.CreateLedgerRequest{
			Spec: servertest.Spec(fmt.Sprintf("a%d", tries))})
		return err
	}
	eventually(t, "the rules on the daemon without a policy", func() bool {
		err := create(careless)
		return status.Code(err) == codes.FailedPrecondition && strings.Contains(err.Error(), "which the store requires")
	})
	eventually(t, "fair use on it", func() bool {
		_, err := careless.Client.GetLedger(as(t, "job"), &pb.GetLedgerRequest{Name: "a"})
		return status.Code(err) == codes.ResourceExhausted
	})
	strict.change(everybody)
	for _, g := range []*guarded{careless, strict} {
		eventually(t, "no rules", func() bool { return create(g) == nil })
	}
	alone := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{
		Socket: t.TempDir() + "/own", Rules: access.Rules{RequireDataset: true}}})
	answer, err := alone.Client.GetAccess(as(t, "job"), &pb.GetAccessRequest{})
	if err != nil || !strings.Contains(answer.GetProblem(), "rules that the other daemons of the store do not keep") {
		t.Errorf("a daemon with a rule of its own: problem %q, %v", answer.GetProblem(), err)
	}
}
