// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// sent is a request that was charged, and where.
type sent struct {
	ledger   string
	request  ledger.Request
	position uint64
}

func newCharge(name string, w ledger.Writer, sequence uint64, kind int) sent {
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: audittest.Mechanism(1 + kind%40), Count: 1}}}
	return sent{ledger: name, request: ledger.Request{Writer: w, Sequence: sequence,
		Digest: record.Digest(v), Action: v}}
}

// flippedStore is a store with pages of every kind, and of what was charged in it what
// is to be sent again.
func flippedStore(t *testing.T) (content []byte, all []sent) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	audittest.Fill(t, s, audittest.Spec("drawn", 0), 400, 1) // reservations and refunds
	k := keeper.New(keeper.Config{Store: s, Digest: record.Digest})
	charge := func(c sent, again bool) {
		r, err := k.Do(t.Context(), c.ledger, c.request)
		if err != nil || r.Replayed {
			t.Fatalf("%+v, %v", r, err)
		}
		if c.position = r.Receipt.Position; again {
			all = append(all, c)
		}
	}
	create := func(name string) {
		if _, _, err := k.Create(t.Context(),
			ledger.Genesis{Spec: audittest.Spec(name, 3), Principal: "unverified:p",
				Time: audittest.Time(0)}); err != nil {
			t.Fatal(err)
		}
	}
	create("many")
	for i := range 80 {
		charge(newCharge("many", audittest.Writer(1000+i), 1, i), true)
		charge(newCharge("many", audittest.Writer(100+i), 1, i), true)
		name := fmt.Sprintf("team/one-%03d/of-many-ledgers", i)
		create(name)
		charge(newCharge(name, audittest.Writer(1000+i), 1, i), true)
	}
	dealAll(t, s)
	for i := range 300 {
		charge(newCharge("many", audittest.Writer(0), uint64(i+1), i), i%10 == 0)
	}
	charge(newCharge("many", audittest.Writer(1), 1, 1), true) // the newest of a single writer
	if err := errors.Join(k.Close(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content, all
}

// What became of a flipped bit in a file that a daemon starts with.
const (
	foundByVerify = "found by verify"
	namedAtStart  = "of these named at start"
	namedInUse    = "of these named in use"
	withoutEffect = "without effect"
	secondCharge  = "charged twice"
)

// One wrong bit in any page of any bucket, in the list of free pages, or in a root page
// after an orderly stop, is found by Verify, or has no effect. A daemon that starts with
// it refuses to start, or answers what was sent again as before, or refuses it: it never
// charges it again, not after other charges have rewritten pages either, nor after
// another start.
//
// By default one bit of each kind; ACCOUNTANT_FLIPS=1000 is how many in all.
func TestFlippedBits(t *testing.T) {
	testaid.Long(t, "it verifies a damaged store hundreds of times")
	content, all := flippedStore(t)
	by := kinds(aims(t, content))
	names := slices.Sorted(maps.Keys(by))
	for _, want := range []string{"tail/branch", "packs/branch", "writers/branch", "singles/branch",
		"ledgers/branch", "heads/branch", "meta/inline", "freelist/ids", "root/leaf"} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Fatalf("no %s in %v", want, names)
		}
	}
	number := flips(len(names))
	random := rand.New(rand.NewPCG(uint64(number), 1))
	outcomes := map[string]int{}
	for n := range number {
		kind := names[n%len(names)]
		a := aim{kind, by[kind][random.IntN(len(by[kind]))]}
		bit := byte(1) << random.IntN(8)
		for _, o := range outcome(t, flipped(content, a.at, bit), all, uint64(n)) {
			outcomes[o]++
			if o == secondCharge || o == withoutEffect && !harmless(kind) {
				t.Errorf("%s: %s, bit %#x", o, a, bit)
			}
		}
	}
	t.Logf("%d flips of %d kinds: %v", number, len(names), outcomes)
}

// flips is how many bits to flip: one of each kind, or ACCOUNTANT_FLIPS.
func flips(kinds int) int {
	if n, err := strconv.Atoi(os.Getenv("ACCOUNTANT_FLIPS")); err == nil {
		return n
	}
	return kinds
}

// harmless are bytes that nothing is read from.
func harmless(kind string) bool { return strings.HasSuffix(kind, "meta/header") }

// outcome uses a file as a daemon would.
func outcome(t *testing.T, content []byte, all []sent, seed uint64) (outcomes []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := verify.File(context.Background(), verify.Config{Path: path})
	found := err != nil
	if found {
		outcomes = append(outcomes, foundByVerify)
		var finding *audit.Finding
		if !errors.As(err, &finding) && !errors.Is(err, ledger.ErrDamaged) {
			t.Logf("verify: %v", err)
		}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	for start := range 2 {
		s, err := Open(Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		if err != nil {
			if start == 0 {
				return append(outcomes, namedAtStart)
			}
			return append(outcomes, namedInUse)
		}
		twice, named := use(s, all, random)
		_ = s.Close()
		if twice != nil {
			t.Log(twice)
			return append(outcomes, secondCharge)
		}
		if named != nil {
			return append(outcomes, namedInUse)
		}
	}
	if !found {
		outcomes = append(outcomes, withoutEffect)
	}
	return outcomes
}

// use sends again what was sent, between new charges. named is the first error.
func use(s *Store, all []sent, random *rand.Rand) (twice, named error) {
	k := keeper.New(keeper.Config{Store: s, Digest: record.Digest})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = k.Close(ctx)
	}()
	ctx := context.Background()
	for _, part := range []int{4, 1} {
		for _, i := range random.Perm(len(all))[:len(all)/part] {
			c := all[i]
			r, err := k.Do(ctx, c.ledger, c.request)
			if err != nil {
				named = first(named, err)
			} else if !r.Replayed || r.Receipt.Position != c.position {
				return fmt.Errorf("sequence %d of %s in %s: %+v; first at %d", c.request.Sequence,
					c.request.Writer.Name, c.ledger, r, c.position), named
			}
			if random.IntN(40) == 0 { // by a new writer, and by one that is known
				c := newCharge(c.ledger, audittest.Writer(2000+random.IntN(1<<30)), 1, 1)
				if _, err := k.Do(ctx, c.ledger, c.request); err != nil {
					named = first(named, err)
				}
			}
			if random.IntN(80) == 0 {
				name := fmt.Sprintf("team/new-%d", random.IntN(1<<30))
				if _, _, err := k.Create(ctx,
					ledger.Genesis{Spec: audittest.Spec(name, 3), Principal: "unverified:p",
						Time: audittest.Time(0)}); err != nil {
					named = first(named, err)
				}
			}
		}
	}
	return nil, named
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
