// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// forgetful is a store that has lost the records of all datasets as a whole, up to entry 7.
type forgetful struct{ memory.Shared }

func (forgetful) LostWhole(name string) (lost ledger.Head, _ error) {
	if ledger.IsDataset(name) {
		lost = ledger.Head{Position: 7, Hash: ledger.Hash{7}}
	}
	return lost, nil
}

// A dataset whose record was lost as a whole begins anew with an entry that says so, and with nothing to spend before
// somebody has reconciled it.
func TestDatasetThatWasLostAsAWhole(t *testing.T) {
	t.Parallel()
	started := servertest.StartWith(t, servertest.Config{Store: forgetful{memory.New(memory.Config{}).Shared()},
		Server: server.Config{Socket: filepath.Join(t.TempDir(), "own")}})
	s := &datasetServer{started, t, started.Owner(t)}
	s.mustRegister(survey(servertest.Basic(2)))
	text := ""
	for _, a := range s.Ledger("dataset:survey").GetAssumptions() {
		text += a.GetText()
	}
	if want := "the newest is entry 7 with hash 07"; !strings.Contains(text, want) ||
		!strings.Contains(text, "and nothing was left") {
		t.Errorf("the record assumes %q; want %q", text, want)
	}
	create := func(name string) error {
		return s.create(of("Survey", "1", servertest.Filter(name, servertest.Basic(1))))
	}
	wantError(t, create("a"), codes.FailedPrecondition, "needs reconciling")
	_, err := s.owner.Reconcile(servertest.Context(t), &pb.ReconcileRequest{
		Lane: &pb.Lane{Ledger: "dataset:survey", Writer: servertest.Writer(), Sequence: 1},
		Reconcile: &pb.Reconcile{Events: tenths(5),
			Contribution: pb.SetPart_OVER_ALL}})
	if err != nil {
		t.Fatal(err)
	}
	if err := create("a"); err != nil {
		t.Error(err)
	}
	wantError(t, create("b"), codes.ResourceExhausted, "allowed: at most") // a half was lost, so there is a half left
}
