// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type askerKey struct{}

// Somebody asks 32 questions at once, which compute as long as they may. A single question of somebody else is
// admitted beside them, and waits for no more than one turn of each that is admitted before each of its own turns.
// The time is the test's own: nothing is computed but counted.
func TestSingleQuestionBesideMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := InTime{analyses: NewRotation(1, time.Hour, new(testMeter)),
			Caller: func(ctx context.Context) string { return ctx.Value(askerKey{}).(string) }}
		ask := func(ctx context.Context, who string, slices int, each func()) error {
			ctx = context.WithValue(ctx, askerKey{}, who)
			if err := in.Admit(ctx); err != nil {
				return err
			}
			_, err := Beside(ctx, in, NothingYet, func(turn *Turn) (int, error) {
				for n := 0; n < slices; n++ {
					each()
					time.Sleep(slice) // stands for work of a whole slice
					if turn.Stop() {
						break
					}
				}
				return 0, nil
			})
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var others, refused atomic.Int64
		var greedy sync.WaitGroup
		for range 32 {
			greedy.Go(func() {
				if ask(ctx, "eve", 1<<30, func() { others.Add(1) }) != nil && ctx.Err() == nil {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := refused.Load(); n != 32-admittedEach {
			t.Errorf("%d of 32 questions are refused, want %d", n, 32-admittedEach)
		}
		const own = 5
		before := others.Load()
		if err := ask(t.Context(), "ann", own, func() {}); err != nil {
			t.Fatalf("a single question beside many of one caller: %v", err)
		}
		if between := others.Load() - before; between > (own+1)*admittedEach {
			t.Errorf("%d turns of others before %d turns of a single question are over; want at most %d", between, own,
				(own+1)*admittedEach)
		}
		// However many there are who ask one each, there is an end.
		ends := int64(0)
		for ; ends < 100; ends++ {
			if in.Admit(context.WithValue(ctx, askerKey{}, string(rune('A'+ends)))) != nil {
				break
			}
		}
		if ends != admittedEach {
			t.Errorf("%d single questions are admitted beside %d of one caller", ends, admittedEach)
		}
		for i := range ends {
			in.Leave(context.WithValue(ctx, askerKey{}, string(rune('A'+i))))
		}
		cancel()
		greedy.Wait()
		for in.Admitted() > 0 { // their computations end after their calls; the test's own time ends it
			time.Sleep(slice)
		}
		synctest.Wait()
		if n := in.Admitted(); n != 0 || len(in.analyses.by) != 0 {
			t.Errorf("%d are admitted afterwards, of %d callers", n, len(in.analyses.by))
		}
	})
}
