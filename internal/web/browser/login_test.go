// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/web/login"
)

const (
	host = "accountant.test"
	at   = "https://" + host
)

// site is a daemon with TLS and an access policy, at which people log in, and a browser that reaches it as
// accountant.test.
type site struct {
	*servertest.Server
	issuer  *bearertest.Issuer
	owner   api.Client
	browser context.Context
	trust   *x509.CertPool
}

// startSite starts a daemon with the ledgers team/a and secret/b. Ann may view team/a, and Ben may audit it, too.
func startSite(t *testing.T) *site {
	t.Helper()
	s, dir := &site{issuer: bearertest.New(t)}, t.TempDir()
	var files endpoint.TLSFiles
	authority := servertest.NewAuthority(t)
	files.Cert, files.Key = authority.Issue("server", func(c *x509.Certificate) { c.DNSNames = []string{host} })
	s.trust = authority.Client("").RootCAs
	public, _ := url.Parse(at)
	from := bearer.Issuer{URL: s.issuer.URL, CA: s.issuer.CA, Audiences: []string{bearertest.Audience},
		Patience: bearertest.Patience}
	l, err := login.New(login.Config{Issuer: from, Client: bearertest.Client, Secret: bearertest.Secret, URL: public})
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(dir, "policy.yaml")
	text := fmt.Sprintf("version: 1\ncontact: privacy@example.org\ngrants:\n"+
		"  - {roles: [viewer], to: ['oidc:%[1]s#ann', 'oidc:%[1]s#ben'], on: ['prefix:team/']}\n"+
		"  - {roles: [auditor], to: ['oidc:%[1]s#ben'], on: ['prefix:team/']}\n"+
		"  - {roles: [officer], to: ['oidc:%[1]s#cleo', 'oidc:%[1]s#dora'], on: ['prefix:team/']}\n"+
		"two_people: {within: 72h}\n", s.issuer.URL)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Server = servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Dashboard: true,
		TLS: files, Issuers: []bearer.Issuer{from}, Login: l, PublicURL: public, AccessPolicy: policy,
		Socket: filepath.Join(dir, "own")}})
	s.owner = s.Owner(t)
	for _, name := range []string{"team/a", "secret/b"} {
		if _, err := s.owner.CreateLedger(servertest.Context(t),
			&pb.CreateLedgerRequest{Spec: servertest.Spec(name)}); err != nil {
			t.Fatal(err)
		}
		s.report(t, name)
	}
	trusted := []string{spki(t, files.Cert), spki(t, s.issuer.CA)}
	// Not in a folder of the test, as the browser's processes may write for a moment after its end.
	profile, err := os.MkdirTemp(bin, "profile")
	if err != nil {
		t.Fatal(err)
	}
	in, end, err := launch(profile,
		chromedp.Flag("ignore-certificate-errors-spki-list", strings.Join(trusted, ",")),
		chromedp.Flag("host-resolver-rules", "MAP "+host+":443 "+s.HTTPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	s.browser = in
	return s
}

// spki is what the browser knows a certificate by.
func spki(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s *site) report(t *testing.T, name string) {
	t.Helper()
	if _, err := s.owner.Report(servertest.Context(t), &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
		Charge: servertest.Gaussian(2, 1),
	}); err != nil {
		t.Fatal(err)
	}
}

// Ann opens a link to a ledger, logs in on the way and comes to it. She sees what she may, in the overview and by
// any link, and is told in words what she lacks. Her logout ends what another of her tabs follows, and the browser
// then knows nobody.
func TestLoginOverTLS(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	s.issuer.Login("ann", nil)
	p := openIn(t, s.browser)
	p.do(chromedp.Navigate(at + ledgerPage("team/a")))
	p.waits("main h1", "team/a")
	p.shows("header", "You are oidc:"+s.issuer.URL+"#ann", "Log out")
	p.shows("main", "1 application", "auditor") // who spent it is for auditors
	p.waits("#live-state", "This page follows the ledger.")
	s.report(t, "team/a")
	p.waits("[data-live]", "2 applications")

	other := openIn(t, s.browser)
	other.do(chromedp.Navigate(at + "/"))
	other.shows("tbody", "team/a")
	if text := other.text("body"); strings.Contains(text, "secret") {
		t.Errorf("ann sees what she may not:\n%s", text)
	}
	for _, path := range []string{ledgerPage("secret/b"), "/curves?name=secret/b", "/statement?name=secret/b",
		"/audit?name=secret/b", ledgerPage("secret/none")} {
		other.do(chromedp.Navigate(at + path))
		if text := other.text("main"); !strings.Contains(text, "You may not see this") &&
			!strings.Contains(text, "This is not here") || strings.Contains(text, "application") {
			t.Errorf("%s:\n%.1000s", path, text)
		}
	}
	other.meant("403")
	other.meant("404")

	other.do(chromedp.Click("form.who button", chromedp.ByQuery))
	other.waits("body", "You are logged out here.")
	// The other tab's stream ends, and what it asks for again is refused.
	p.waits("#live-state", "This page no longer follows the ledger")
	p.meant("401")
	p.meant("403")
	s.issuer.Login("nobody", nil) // who logs in next
	other.do(chromedp.Navigate(at + "/"))
	other.waits("header", "#nobody")
	other.shows("main", "You may not see this", "needs the role viewer on at least one ledger", "privacy@example.org")
	other.do(chromedp.Navigate(at + ledgerPage("team/a")))
	other.shows("main", "privacy@example.org")
	other.meant("403")
	other.meant("404")
}

// Ben uses nothing but the keyboard: he searches, opens a ledger, reads who spent it, and logs out.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	s.issuer.Login("ben", nil)
	p := openIn(t, s.browser)
	p.do(chromedp.Navigate(at))
	p.waits("tbody", "team/a")
	p.reach("#contains")
	p.do(chromedp.KeyEvent("team"), chromedp.KeyEvent(kb.Enter))
	p.waits(`#contains[value="team"]`, "")
	p.reach(`tbody a[href^="/ledger"]`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waits("main", "Who spent it")
	if text := p.text("main"); strings.Contains(text, "auditor") {
		t.Errorf("an auditor lacks a role:\n%.2000s", text)
	}
	p.reach(`a[href^="/statement"]`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waits("main", "Privacy statement: team/a")
	p.reach("form.who button")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waits("body", "You are logged out here.")
	p.reach(`a[href="/login"]`)
	s.issuer.Login("nobody", nil)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waits("header", "#nobody")
	p.meant("403") // nobody has a role
}

// reach presses Tab until an element has the focus.
func (p *tab) reach(selector string) {
	p.t.Helper()
	for range 100 {
		var there bool
		p.do(chromedp.KeyEvent(kb.Tab),
			chromedp.Evaluate(fmt.Sprintf("document.activeElement?.matches(%q) === true", selector), &there))
		if there {
			return
		}
	}
	p.t.Fatalf("a hundred times Tab does not lead to %s", selector)
}
