// SPDX-License-Identifier: Apache-2.0

package login_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/login"
)

// What somebody watches ends with the logout, on a page and as lines of JSON: nobody who sits down at the same
// browser, or has copied its cookie, hears of a later charge.
func TestLogoutEndsStreams(t *testing.T) {
	t.Parallel()
	for name, open := range map[string][]string{"a page": {"GET", "/ledger/live?name=hers", ""},
		"JSON": {"POST", jsonapi.Prefix + "Ledgers/WatchLedger", `{"name": "hers"}`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil, bearertest.New(t))
			s.issuer.Login("ann", nil)
			b := s.browser(t)
			b.do("GET", at+"/login", "")
			code, _, body := b.do("POST", at+jsonapi.Prefix+"Ledgers/CreateLedger", `{"spec": {"name": "hers", `+
				`"adjacency": "ADD_OR_REMOVE_ONE"}}`, "Content-Type: application/json", "Origin: "+at)
			if code != http.StatusOK {
				t.Fatal(code, body)
			}
			r, err := http.NewRequestWithContext(servertest.Context(t), open[0], at+open[1], strings.NewReader(open[2]))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Origin", at)
			a, err := b.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Body.Close() }()
			lines := bufio.NewScanner(a.Body)
			if !lines.Scan() || a.StatusCode != http.StatusOK {
				t.Fatal(a.StatusCode, lines.Err())
			}
			b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			if code, _, body := b.do("POST", at+login.LogoutPath, "", "Origin: "+at); code != http.StatusSeeOther {
				t.Fatal(code, body)
			}
			for lines.Scan() { // it ends: the test's own time is over otherwise
			}
			if servertest.Context(t).Err() != nil || r.Context().Err() != nil {
				t.Error("it goes on after the logout")
			}
		})
	}
}

// Daemons that share a key but not the place where people log in do not take each other's sessions.
func TestKeyOfAnotherFleet(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", 32))
	one, two := start(t, key, bearertest.New(t)), start(t, key, bearertest.New(t))
	one.issuer.Login("ann", nil)
	address, _ := url.Parse(at)
	b, c := one.browser(t), two.browser(t)
	b.do("GET", at+"/login", "")
	if code, _ := b.who(); code != http.StatusOK {
		t.Fatal(code)
	}
	c.jar.SetCookies(address, b.jar.Cookies(address))
	if code, who := c.who(); code != http.StatusUnauthorized {
		t.Errorf("a session of another fleet: %d %q", code, who)
	}
}
