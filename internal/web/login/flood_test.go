// SPDX-License-Identifier: Apache-2.0

package login_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
)

// Whoever reaches the daemon can have logins fail; the log has a few lines about them, not one for each.
func TestFailedLoginsInTheLog(t *testing.T) {
	t.Parallel()
	s := start(t, nil, bearertest.New(t))
	s.issuer.Down(true)
	b, began := s.browser(t), time.Now()
	for range 60 {
		if code, _, body := b.do("GET", at+"/login", ""); code != http.StatusServiceUnavailable {
			t.Fatal(code, body)
		}
	}
	lines := strings.Count(s.log.String(), "a login has failed")
	if most := 11 + int(time.Since(began)/(10*time.Second)); lines == 0 || lines > most {
		t.Errorf("%d lines for 60 failed logins; want at most %d", lines, most)
	}
}
