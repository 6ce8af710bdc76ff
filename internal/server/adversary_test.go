// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server/adversarytest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// family is a ledger and its children on a running server, as an adversary finds them.
type family struct {
	t      *testing.T
	server *servertest.Server
	root   string
	moves  []move
}

// move is a step of the adversary, as he takes it on the server.
type move struct {
	adversarytest.Move
	take func(f *family) error
}

// Accept implements adversarytest.Ledgers.
func (f *family) Accept(i int) bool {
	err := f.moves[i].take(f)
	switch status.Code(err) {
	case codes.OK:
		return true
	case codes.ResourceExhausted, codes.FailedPrecondition, codes.NotFound:
		return false
	}
	f.t.Fatalf("%s: %v", f.moves[i].Name, err)
	return false
}

// rule is how ledgers decide, and what they state.
type rule struct {
	name   string
	spec   func(name string) *pb.LedgerSpec
	stated func(name string) *pb.LedgerSpec // what the statement is about; spec unless given
	setup  []move                           // before the game
	moves  []move                           // of the adversary
	skewed bool                             // the two directions differ
	// tight is the part of what is stated that the adversary reaches at some ε at least:
	// otherwise the game would show little.
	tight float64
	// wrong rules are caught: at some ε the adversary reaches more than is stated.
	wrong bool
	// claim is δ by ε as a wrong rule has it, which no server states.
	claim map[float64]float64
}

// epsilons are those at which an adversary tries.
func (r rule) epsilons() []float64 {
	if r.claim != nil {
		return slices.Collect(maps.Keys(r.claim))
	}
	if r.wrong {
		return []float64{1.5}
	}
	return []float64{0, 0.5, 1.5}
}

// open creates a child, once; adopted says whether the root pays for it.
func open(child string, adopted bool, spec func(name string) *pb.LedgerSpec) move {
	return move{adversarytest.Move{Name: "create " + child}, func(f *family) error {
		s := spec(f.root + child)
		if adopted {
			s.Parent = f.root
		}
		answer, err := f.server.Client.CreateLedger(servertest.Context(f.t), &pb.CreateLedgerRequest{Spec: s})
		if err == nil && !answer.GetCreated() {
			return status.Error(codes.FailedPrecondition, "it is there")
		}
		return err
	}}
}

// shut closes a child, once.
func shut(child string) move {
	return move{adversarytest.Move{Name: "close " + child}, func(f *family) error {
		l, err := f.server.Client.GetLedger(servertest.Context(f.t), &pb.GetLedgerRequest{Name: f.root + child})
		if err != nil || l.GetLedger().GetClosed() {
			return status.Error(codes.FailedPrecondition, "it is closed, or not there")
		}
		_, err = f.server.Client.CloseLedger(servertest.Context(f.t), &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: f.root + child, Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
		})
		return err
	}}
}

// Adversaries who choose everything by what they saw, in ledgers and their children at
// once, lose no more than a running service states; and where a rule is wrong on purpose,
// they do (docs/math/adaptivity.md §5).
func TestAdversaries(t *testing.T) {
	t.Parallel()
	// In memory: there are thousands of ledgers.
	s := servertest.StartWith(t, servertest.Config{Store: memory.New(memory.Config{})})
	for i, r := range rules() {
		if i%testaid.Every(3) != 0 {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			made := 0
			var moves []adversarytest.Move
			for _, m := range r.moves {
				moves = append(moves, m.Move)
			}
			create := func(spec func(string) *pb.LedgerSpec) string {
				made++
				name := fmt.Sprintf("game-%d/%d", i, made)
				if _, err := s.Client.CreateLedger(servertest.Context(t),
					&pb.CreateLedgerRequest{Spec: spec(name)}); err != nil {
					t.Fatal(err)
				}
				return name
			}
			tree := adversarytest.Game{Moves: moves, Fresh: func() adversarytest.Ledgers {
				f := &family{t, s, create(r.spec), r.moves}
				for _, m := range r.setup {
					if err := m.take(f); err != nil {
						t.Fatalf("%s: %v", m.Name, err)
					}
				}
				return f
			}}.Explore()
			if r.stated == nil {
				r.stated = r.spec
			}
			ledger, directions := create(r.stated), 1
			if r.skewed {
				directions = 2
			}
			most := 0.0
			for _, epsilon := range r.epsilons() {
				stated, ok := r.claim[epsilon]
				if !ok {
					answer, err := s.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
						Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: ledger},
						Given:   &pb.QueryPrivacyRequest_Epsilon{Epsilon: epsilon}})
					if err != nil {
						t.Fatal(err)
					}
					stated = answer.GetDelta()
				}
				for _, swapped := range []bool{false, true}[:directions] {
					best := tree.Best(epsilon, swapped)
					reached, err := best.Play(epsilon)
					if err != nil {
						t.Fatal(err)
					}
					about, _ := reached.Float64()
					if math.Abs(about-best.Value()) > 1e-9 {
						t.Errorf("ε = %g: the strategy promised %.12g and reached %.12g", epsilon, best.Value(), about)
					}
					if !r.wrong && reached.Cmp(new(big.Float).SetFloat64(stated)) > 0 {
						t.Errorf("ε = %g: an adversary reaches δ = %.12g; stated is %.12g", epsilon, about, stated)
					}
					most = math.Max(most, about/stated)
				}
			}
			t.Logf("%d states, %d families of ledgers, at most %.4f of what is stated", tree.States, made, most)
			if r.wrong && most <= 1 {
				t.Errorf("no adversary catches the rule: at most %.4f of what it states", most)
			}
			if most < r.tight {
				t.Errorf("an adversary who reaches %.4f of what is stated shows little; want %.4f", most, r.tight)
			}
		})
	}
}
