// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// census is how many ledgers at once the daemon counts.
const census = 1000

// crowded is a store whose lists have many ledgers, or datasets, that no policy of these tests shows.
type crowded struct {
	ledger.Store
	hidden []string      // sorted: what follows the list's prefix
	slow   time.Duration // how long each read takes
	listed int           // in all, for callers
}

func crowd(n int, slow time.Duration) *crowded {
	c := &crowded{Store: memory.New(memory.Config{}), slow: slow}
	for i := range n {
		c.hidden = append(c.hidden, fmt.Sprintf("m/secret/%06d", i))
	}
	return c
}

// List implements ledger.Store.
func (c *crowded) List(prefix, after string, limit int) ([]ledger.Summary, error) {
	time.Sleep(c.slow)
	out, err := c.Store.List(prefix, after, limit)
	if err != nil {
		return nil, err
	}
	from, found := slices.BinarySearch(c.hidden, strings.TrimPrefix(after, prefix))
	if found {
		from++
	}
	for _, name := range c.hidden[from:min(from+limit, len(c.hidden))] {
		out = append(out, ledger.Summary{Genesis: storetest.Genesis(prefix + name)})
	}
	slices.SortFunc(out, func(a, b ledger.Summary) int {
		return strings.Compare(a.Genesis.Spec.Name, b.Genesis.Spec.Name)
	})
	out = out[:min(len(out), limit)]
	if limit < census { // the daemon counts its ledgers in larger pages, beside the callers
		c.listed += len(out)
	}
	return out, nil
}

// among starts a server whose caller ann may see the ledgers a/1 and z/1 and the datasets a and z, with
// the hidden ones of the store between them. It returns her two lists.
func among(t *testing.T, store *crowded) (*servertest.Server, map[string]func(token string) ([]string, string, error)) {
	t.Helper()
	g := &guarded{t: t, file: filepath.Join(t.TempDir(), "policy.yaml")}
	g.write("grants:\n  - {roles: viewer, to: 'unverified:ann', on: ['prefix:a/', 'prefix:z/', 'dataset:a', " +
		"'dataset:z']}\n")
	g.Server = servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{
		AccessPolicy: g.file, Socket: filepath.Join(t.TempDir(), "own")}})
	g.Owner = g.Server.Owner(t)
	for _, id := range []string{"a", "z"} {
		g.create(servertest.Spec(id + "/1"))
		spec := survey(servertest.Basic(1))
		spec.Id, spec.Independence = id, "other people"
		if _, err := g.Owner.CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{Spec: spec}); err != nil {
			t.Fatal(err)
		}
	}
	store.listed = 0
	return g.Server, map[string]func(string) (names []string, next string, err error){
		"ledgers": func(token string) (names []string, next string, err error) {
			page, err := g.Client.ListLedgers(as(t, "ann"), &pb.ListLedgersRequest{PageToken: token})
			for _, l := range page.GetLedgers() {
				names = append(names, strings.TrimSuffix(l.GetName(), "/1"))
			}
			return names, page.GetNextPageToken(), err
		},
		"datasets": func(token string) (names []string, next string, err error) {
			page, err := g.Client.ListLedgers(as(t, "ann"), &pb.ListLedgersRequest{Prefix: "dataset:",
				PageToken: token})
			for _, d := range page.GetLedgers() {
				names = append(names, d.GetSpec().GetDatasetId())
			}
			return names, page.GetNextPageToken(), err
		},
		"overview": func(token string) (names []string, next string, err error) {
			page, err := g.Client.QueryOverview(as(t, "ann"), &pb.QueryOverviewRequest{PageToken: token})
			for _, r := range page.GetRows() {
				names = append(names, strings.TrimSuffix(r.GetName(), "/1"))
			}
			return names, page.GetNextPageToken(), err
		},
		"overview of datasets": func(token string) (names []string, next string, err error) {
			page, err := g.Client.QueryOverview(as(t, "ann"), &pb.QueryOverviewRequest{PageToken: token,
				Prefix: "dataset:"})
			for _, r := range page.GetRows() {
				names = append(names, r.GetDatasetId())
			}
			return names, page.GetNextPageToken(), err
		},
	}
}

// A page passes over so many names that its caller may not see, or for so long; then the next goes on.
// However many there are, no name is left out or told, and no page starts again from the beginning.
func TestPagesPassOverHiddenNames(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]*crowded{
		"many": crowd(25_000, 0),
		"slow": crowd(150, 150*time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, lists := among(t, store)
			for of, page := range lists {
				store.listed = 0
				var got, tokens []string
				for token := ""; len(tokens) < 100; tokens = append(tokens, token) {
					names, next, err := page(token)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, names...)
					if token = next; token == "" {
						break
					}
				}
				if !slices.Equal(got, []string{"a", "z"}) {
					t.Errorf("%s: %v", of, got)
				}
				if n := len(store.hidden); len(tokens) == 0 || store.listed > n+n/2 {
					t.Errorf("%s: %d pages, and %d of %d names read; want several, and each about once", of,
						len(tokens)+1, store.listed, n)
				}
				for _, token := range tokens {
					plain, err := base64.RawURLEncoding.DecodeString(token)
					if err != nil || strings.Contains(string(plain), "secret") {
						t.Errorf("%s: token %q names what is hidden, or %v", of, plain, err)
					}
				}
			}
		})
	}
}

// After a restart, or at another daemon with the same signing key, a list goes on where it was among hidden names.
func TestListsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	store := crowd(10_500, 0)
	s, lists := among(t, store)
	for of, page := range lists {
		store.listed = 0
		first, token, err := page("")
		passed := store.listed // fewer than a page's where the machine is slow, as a page's time is bounded, too
		if err != nil || !slices.Equal(first, []string{"a"}) || token == "" {
			t.Fatalf("%s: %v, %q, %v", of, first, token, err)
		}
		s.Restart()
		store.listed = 0
		var rest []string
		for pages := 0; token != "" && pages < 100; pages++ {
			var names []string
			if names, token, err = page(token); err != nil {
				t.Fatalf("%s: %v", of, err)
			}
			rest = append(rest, names...)
		}
		if !slices.Equal(rest, []string{"z"}) || store.listed > len(store.hidden)*5/4-passed {
			t.Errorf("%s: %v, %d names read after %d; want z, and not once more all that are hidden", of, rest,
				store.listed, passed)
		}
	}
}
