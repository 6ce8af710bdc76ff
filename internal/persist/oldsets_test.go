package persist

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// A file of a daemon that knew no sets keeps its version when a set is refused, and gets version 5 with the
// first set that is written.
func TestFirstSetOfAnOldStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	f, err := os.Open("testdata/daemon-028564a.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err := errors.Join(err, f.Close(), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := storedFormat(t, path); got != 1 {
		t.Fatalf("the old file has version %d", got)
	}
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	k := keeper.New(keeper.Config{Store: s, Digest: record.Digest})
	charge := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 1}}}
	report := func(key string, names ...string) error {
		together := ledger.Together{Action: charge, Contribution: ledger.OverAll}
		var members []keeper.SetMember
		for _, name := range names {
			together.Members = append(together.Members, ledger.Member{Ledger: name, Position: 1})
			members = append(members, keeper.SetMember{Ledger: name, Action: charge})
		}
		_, err := k.DoSet(t.Context(), keeper.SetRequest{
			Request: ledger.Request{Writer: ledger.Writer{Principal: "unverified:p", Name: "request/" + key},
				Sequence: 1, Digest: record.Digest(together), Action: together},
			Members: func(context.Context) (ledger.Together, []keeper.SetMember, error) {
				return together, members, nil
			},
		})
		return err
	}
	if _, _, err := k.Create(t.Context(), ledger.Genesis{Principal: "unverified:p", Spec: ledger.Spec{Name: "team/new",
		Adjacency: mechanism.AddOrRemoveOne, PrivacyUnit: "user"}}); err != nil {
		t.Fatal(err)
	}
	if err := report("refused", "team/census", "team/empty"); !errors.Is(err, ledger.ErrSet) {
		t.Errorf("a set of ledgers with another adjacency: %v", err)
	}
	if s.format != 1 {
		t.Errorf("version %d after a set that was refused", s.format)
	}
	if err := report("first", "team/census", "team/new"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.Close(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := storedFormat(t, path); got != 5 {
		t.Errorf("version %d after the first set; want 5", got)
	}
	done, err := verify.File(t.Context(), verify.Config{Path: path})
	if err != nil || done.Ledgers != 6 || done.Entries != 306+3 {
		t.Errorf("verify: %+v, %v; want a ledger and a journal more, and 3 entries", done, err)
	}
}
