// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/record"
)

// A creation, a raise and a registration write several ledgers at once. When that write
// fails, all of it is there or none; the same call again comes to the same end.
func TestDatasetsAreWrittenWholeOrNotAtAll(t *testing.T) {
	raise := ledger.Raise{Reason: "r", Budgets: pure(6)}
	register := func(k *Keeper) error {
		_, _, _, err := k.Register(t.Context(), Registration{
			Genesis: ledger.Genesis{Spec: datasetSpec("survey", "1", 20), Principal: "uid:1"}})
		return err
	}
	create := func(k *Keeper, name string) error {
		_, _, err := k.Create(t.Context(), ledger.Genesis{Principal: "uid:1",
			Spec: rootSpec(name, "survey", "1", ledger.Filtered, 3)})
		return err
	}
	for what, c := range map[string]struct {
		before, write func(k *Keeper) error
		want          string // of the state afterwards
	}{
		"creation": {register, func(k *Keeper) error { return create(k, "a") }, "a:[0.3] shares:[a 0.3]"},
		"raise": {func(k *Keeper) error { return errors.Join(register(k), create(k, "a")) }, func(k *Keeper) error {
			_, err := k.Do(t.Context(), "a", ledger.Request{
				Writer: ledger.Writer{Principal: "uid:1", Name: "request/r"}, Sequence: 1,
				Digest: record.Digest(raise), Action: raise})
			return err
		}, "a:[0.6] shares:[a 0.6]"},
		"registration": {func(k *Keeper) error { return errors.Join(create(k, "a"), create(k, "b")) }, register,
			"a:[0.3] b:[0.3] shares:[a 0.3][b 0.3]"},
	} {
		for _, f := range []memory.Failure{memory.FailAndKeep, memory.FailAndLose, memory.Unavailable,
			memory.Conflict} {
			t.Run(fmt.Sprint(what, " ", f), func(t *testing.T) {
				s := memory.New(memory.Config{})
				k := New(Config{Store: s, Digest: record.Digest, MaxLedgers: 3})
				if err := c.before(k); err != nil {
					t.Fatal(err)
				}
				old := standing(t, k)
				s.FailNext(f)
				err := c.write(k)
				got, want := standing(t, k), old
				if err == nil || f == memory.FailAndKeep {
					want = c.want
				}
				if got != want {
					t.Errorf("after %v: %s; want %s", err, got, want)
				}
				if err := c.write(k); err != nil {
					t.Errorf("the same again: %v", err)
				}
				if got := standing(t, k); got != c.want {
					t.Errorf("in the end: %s; want %s", got, c.want)
				}
				if err := k.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// standing is what ledgers may spend, and what the dataset holds for them.
func standing(t *testing.T, k *Keeper) (text string) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		if v, err := k.View(t.Context(), name); err == nil {
			text += fmt.Sprintf("%s:[%v] ", name, v.Budgets[0].Budget.Epsilon)
		} else if !errors.Is(err, ledger.ErrNotFound) {
			t.Error(err)
		}
	}
	v, err := k.View(t.Context(), ledger.DatasetName("survey"))
	if err != nil {
		return text + fmt.Sprint("no dataset: ", errors.Is(err, ledger.ErrNotFound))
	}
	var shares []string
	for _, r := range v.Reservations {
		shares = append(shares, fmt.Sprintf("[%s %v]", r.Child, r.Rest[0].Mechanism.(mechanism.PureDP).Epsilon))
	}
	slices.Sort(shares)
	text += "shares:"
	for _, s := range shares {
		text += s
	}
	return text
}
