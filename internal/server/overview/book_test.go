// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A group that needs more than its part of the time, such as all of 10,000 mechanisms together beside 500 groups of
// few, takes what the others do not need. Only where all time is over the question fails.
func TestAGroupTakesTheTimeItNeeds(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]error{time.Second: nil, time.Hour: accountant.ErrStopped} {
		synctest.Test(t, func(t *testing.T) {
			end := time.Now().Add(30 * time.Second)
			b := subjectBook{left: 502, share: func(of int) func() bool {
				part := time.Now().Add(time.Until(end) / time.Duration(of))
				return func() bool { return time.Now().After(part) }
			}}
			b.begin = func() ask { return b.ask }
			b.ask = func(_ mechanism.Composition, q accountant.Question) (accountant.Answer, error) {
				for done := time.Now().Add(takes); time.Now().Before(done); time.Sleep(time.Millisecond) {
					if q.Stop() {
						return accountant.Answer{}, accountant.ErrStopped
					}
				}
				return accountant.Answer{Epsilon: 3}, nil
			}
			if epsilon, err := b.epsilon(history.Spent{}); !errors.Is(err, want) || err == nil && epsilon != 3 {
				t.Errorf("%v: %g, %v; want %v", takes, epsilon, err, want)
			}
		})
	}
}
