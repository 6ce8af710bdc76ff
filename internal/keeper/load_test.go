package keeper

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// slowStore takes its time to load a ledger.
type slowStore struct {
	*testStore
	release chan struct{}
	loading atomic.Int64
}

func (s *slowStore) Load(name string) (ledger.Snapshot, []ledger.Record, error) {
	s.loading.Add(1)
	<-s.release
	return s.testStore.Load(name)
}

// Those who need a ledger that takes long to read wait for one reading together, each
// until its own call ends, also when the first of them does not wait for it any more.
func TestLoadsAreShared(t *testing.T) {
	s := &slowStore{testStore: newTestStore("l"), release: make(chan struct{})}
	k := New(Config{Store: s})
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := k.Summary(short, "l"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a ledger that is not there yet: %v; want the end of the call", err)
	}
	var asked sync.WaitGroup
	for range 20 {
		asked.Go(func() {
			if _, err := k.View(t.Context(), "l"); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(10 * time.Millisecond) // for those who ask
	close(s.release)
	asked.Wait()
	if n := s.loading.Load(); n != 1 {
		t.Errorf("the ledger was read %d times; want once", n)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
