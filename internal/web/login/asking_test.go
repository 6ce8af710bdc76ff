// SPDX-License-Identifier: Apache-2.0

package login

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/server/bearer"
)

// A login that finds all questions to the issuer taken waits for its turn instead of failing, and not for ever.
func TestFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at, _ := url.Parse("https://accountant.example")
		l, err := New(Config{Client: "x", URL: at, Issuer: bearer.Issuer{URL: "https://issuer.example"}})
		if err != nil {
			t.Fatal(err)
		}
		var dones []func()
		for range maxAsking {
			_, done, err := l.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			dones = append(dones, done)
		}
		if _, _, err := l.ask(t.Context()); err == nil {
			t.Errorf("more than %d questions are under way", maxAsking)
		}
		time.AfterFunc(l.Issuer.AskingTime()/2, dones[0])
		_, done, err := l.ask(t.Context())
		if err != nil {
			t.Fatalf("a login during a flood: %v", err)
		}
		done()
		for _, done := range dones[1:] {
			done()
		}
	})
}
