// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/web/login"
)

const public = "https://accountant.test"

// officers is a daemon at which two officers log in; Ann has two principals. Whoever is called after a role has it.
type officers struct {
	*servertest.Server
	issuer *bearertest.Issuer
	trust  *x509.CertPool
	later  atomic.Int64 // by how much the login's clock is ahead
	t      *testing.T
}

func startOfficers(t *testing.T) *officers {
	t.Helper()
	o, dir := &officers{issuer: bearertest.New(t), t: t}, t.TempDir()
	authority := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = authority.Issue("server", func(c *x509.Certificate) {
		c.DNSNames = []string{"accountant.test"}
	})
	o.trust = authority.Client("").RootCAs
	if pem, err := os.ReadFile(o.issuer.CA); err != nil || !o.trust.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	at, _ := url.Parse(public)
	from := bearer.Issuer{URL: o.issuer.URL, CA: o.issuer.CA, Audiences: []string{bearertest.Audience},
		Patience: bearertest.Patience}
	l, err := login.New(login.Config{Issuer: from, Client: bearertest.Client, Secret: bearertest.Secret, URL: at,
		Now: func() time.Time { return time.Now().Add(time.Duration(o.later.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	policy := fmt.Sprintf("version: 1\npeople:\n  ann: ['oidc:%[1]s#ann', 'oidc:%[1]s#ann-at-home']\ngrants:\n"+
		"  - {roles: [officer, manager, reporter], to: ['person:ann', 'oidc:%[1]s#ben'], on: [everything]}\n",
		o.issuer.URL)
	for _, role := range []string{"viewer", "reporter", "manager", "officer", "auditor", "administrator"} {
		policy += fmt.Sprintf("  - {roles: [%[2]s], to: ['oidc:%[1]s#a-%[2]s'], on: [everything]}\n", o.issuer.URL,
			role)
	}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy+"two_people: {within: 1h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Server = servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Dashboard: true,
		TLS: files, Issuers: []bearer.Issuer{from}, Login: l, PublicURL: at, AccessPolicy: file,
		Socket: filepath.Join(dir, "own")}})
	return o
}

// propose has somebody propose to raise a ledger of ε = 2, which is made before; it returns the proposal's position.
func (o *officers) propose(who, name string, epsilon float64) uint64 {
	o.t.Helper()
	ctx, owner := servertest.Context(o.t), o.Owner(o.t)
	spec := servertest.Filter(name, servertest.Basic(2))
	_, _ = owner.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec}) // it may be there
	budget := proto.Clone(spec.GetBudgets()[0]).(*pb.Budget)
	budget.Epsilon = &epsilon
	answer, err := o.client(who).Propose(ctx, &pb.ProposeRequest{
		Lane: &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
		Propose: &pb.Propose{Action: &pb.Propose_Raise{Raise: &pb.Raise{Budgets: []*pb.Budget{budget},
			IndependentOfOutputs: true, Reason: "by " + who}}}})
	if err != nil {
		o.t.Fatal(err)
	}
	return answer.GetReceipt().GetPosition()
}

// client calls the API with a token.
func (o *officers) client(who string) api.Client {
	options := []grpc.DialOption{grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, answer any,
		conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+o.issuer.Token(who, nil))
		return call(ctx, method, request, answer, conn, options...)
	})}
	if o.trust != nil {
		options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: o.trust,
			ServerName: "accountant.test"})))
	}
	return api.NewClient(o.Dial(options...))
}

// limit is what the ledger's budget is now.
func (o *officers) limit(name string) float64 {
	o.t.Helper()
	got, err := o.Owner(o.t).GetLedger(servertest.Context(o.t), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		o.t.Fatal(err)
	}
	return got.GetLedger().GetBudgets()[0].GetBudget().GetEpsilon()
}

// seat is a browser at which somebody may have logged in.
type seat struct {
	*http.Client
	o *officers
}

func (o *officers) seat() seat {
	jar, err := cookiejar.New(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	return seat{&http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: o.trust},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "accountant.test:443" {
				address = o.HTTPAddr
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}, o}
}

// loggedIn is a seat at which somebody has logged in just now, for what needs that.
func (o *officers) loggedIn(who string) seat {
	o.t.Helper()
	s := o.seat()
	o.issuer.Login(who, nil)
	if code, _, body := s.do(http.MethodGet, login.Again("/"), ""); code != http.StatusOK ||
		!strings.Contains(body, "You are logged in") {
		o.t.Fatalf("the login of %s: %d %s", who, code, body)
	}
	return s
}

// do makes a request, and follows no redirection that a form leads to.
func (s seat) do(method, at, body string, headers ...string) (int, http.Header, string) {
	s.o.t.Helper()
	r, err := http.NewRequestWithContext(servertest.Context(s.o.t), method, public+at, strings.NewReader(body))
	if err != nil {
		s.o.t.Fatal(err)
	}
	client := *s.Client
	if method == http.MethodPost {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a, err := client.Do(r)
	if err != nil {
		s.o.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.o.t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(text)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form is the form on an approval's page, empty if there is none.
func (s seat) form(name string, proposal uint64) (form url.Values, page string) {
	s.o.t.Helper()
	code, _, page := s.do(http.MethodGet, approvalAt(name, proposal), "")
	if code != http.StatusOK {
		s.o.t.Fatalf("the page: %d %s", code, page)
	}
	form = url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return form, page
}

func approvalAt(name string, proposal uint64) string {
	return "/approval?" + url.Values{"name": {name}, "proposal": {fmt.Sprint(proposal)}}.Encode()
}

// urlencoded and own are the headers that a browser sends with the page's form.
const (
	urlencoded = "Content-Type: application/x-www-form-urlencoded"
	own        = "Origin: " + public
)

func (s seat) press(form url.Values) (int, http.Header, string) {
	return s.do(http.MethodPost, "/approval", form.Encode(), urlencoded, own, "Sec-Fetch-Site: same-origin")
}

// Ann proposes, Ben sees from what to what, presses the button, and it is done once, in the names of both.
func TestApproveOnThePage(t *testing.T) {
	t.Parallel()
	o := startOfficers(t)
	at := o.propose("ann", "team/a", 3)
	ben := o.loggedIn("ben")
	form, page := ben.form("team/a", at)
	for _, want := range []string{"ε 2.00 → 3.00</strong> at δ = 0, &#43;50 %", "ε = 2, by basic composition",
		"ε = 3, by basic composition", "by ann", "Approve</button>",
		"asserts that the decision did not depend on outputs"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "accountctl approvals approve") {
		t.Error("the page has a button, and a command as well")
	}
	code, header, body := ben.press(form)
	if code != http.StatusSeeOther || o.limit("team/a") != 3 {
		t.Fatalf("%d %v %s; the budget is %v", code, header, body, o.limit("team/a"))
	}
	code, _, body = ben.do(http.MethodGet, header.Get("Location"), "")
	if code != http.StatusOK || !strings.Contains(body, "#ann as entry") ||
		!strings.Contains(body, "approved by oidc:") {
		t.Errorf("afterwards: %d %s", code, body)
	}
	if code, _, body = ben.press(form); code != http.StatusConflict ||
		!strings.Contains(body, "does not wait any more") {
		t.Errorf("pressed again: %d %s", code, body)
	}
	if code, _, _ = ben.do(http.MethodGet, "/approval?name=team/a&done=1", ""); code != http.StatusNotFound {
		t.Errorf("an address makes somebody believe that entry 1 approved something: %d", code)
	}
}

// Proposals that would do the same stand together, and the one that is approved is somebody else's.
func TestEqualProposalsAreJoined(t *testing.T) {
	t.Parallel()
	o := startOfficers(t)
	first := o.propose("ben", "team/a", 3)
	second := o.propose("ann", "team/a", 3)
	other := o.propose("ann", "team/a", 4)
	ben := o.loggedIn("ben")
	form, page := ben.form("team/a", first)
	if form.Get("proposal") != fmt.Sprint(second) || !strings.Contains(page, "2 proposals of the same") ||
		!strings.Contains(page, "by ann") || !strings.Contains(page, "by ben") {
		t.Errorf("the form is for %s; want %d\n%s", form.Get("proposal"), second, page)
	}
	_, _, list := ben.do(http.MethodGet, "/approvals", "")
	if n := strings.Count(list, "Look at it and approve"); n != 2 {
		t.Errorf("%d things wait; want 2", n)
	}
	// What the page has shown changes when something else is approved: then the form is refused.
	old, _ := ben.form("team/a", other)
	form.Set("comment", " agreed <b>by ben</b> \u202e\n")
	code, header, body := ben.press(form)
	if code != http.StatusSeeOther {
		t.Fatal(code, body)
	}
	if _, _, done := ben.do(http.MethodGet, header.Get("Location"), ""); !strings.Contains(done,
		"who said: agreed &lt;b&gt;by ben&lt;/b&gt;") || strings.Contains(done, "\u202e") {
		t.Errorf("the comment is not shown as it is, made harmless: %s", done)
	}
	if code, _, body := ben.press(old); code != http.StatusConflict || !strings.Contains(body, "have changed since") {
		t.Errorf("a page that showed the limit of before: %d %s", code, body)
	}
	form, _ = ben.form("team/a", other)
	again := o.propose("ann-at-home", "team/a", 4)
	if code, _, body := ben.press(form); code != http.StatusConflict || !strings.Contains(body, "have changed since") {
		t.Errorf("somebody else has proposed the same as %d meanwhile: %d %s", again, code, body)
	}
}

// Two officers, and one of them twice, press at the same moment: it is done once.
func TestApproveAtTheSameMoment(t *testing.T) {
	t.Parallel()
	o := startOfficers(t)
	at := o.propose("ann", "team/a", 3)
	seats := []seat{o.loggedIn("ben"), o.loggedIn("a-officer")}
	seats = append(seats, seats[0])
	var forms []url.Values
	for _, s := range seats {
		form, _ := s.form("team/a", at)
		forms = append(forms, form)
	}
	codes := make(chan int, len(seats))
	for i, s := range seats {
		go func() { code, _, _ := s.press(forms[i]); codes <- code }()
	}
	for range seats {
		if code := <-codes; code != http.StatusSeeOther && code != http.StatusConflict {
			t.Errorf("a form: %d", code)
		}
	}
	got, err := o.Owner(t).GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "team/a"})
	if err != nil || got.GetLedger().GetPosition() != 2 || o.limit("team/a") != 3 {
		t.Errorf("%d entries, want the proposal and one approval: %v", got.GetLedger().GetPosition(), err)
	}
}

// A dataset is confirmed, and its budget raised, on the same page.
func TestApproveADatasetOnThePage(t *testing.T) {
	t.Parallel()
	o := startOfficers(t)
	ann, ctx, ben := o.client("ann"), servertest.Context(t), o.loggedIn("ben")
	_, err := ann.CreateDataset(ctx, &pb.CreateDatasetRequest{Propose: true, Spec: &pb.DatasetSpec{Id: "survey",
		Version: "1", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "user", MaxRecordsPerUnit: 1,
		BoundEnforcedBy: "one row for each account",
		Budgets:         []*pb.Budget{servertest.Basic(2)}}})
	if err != nil {
		t.Fatal(err)
	}
	const name = "dataset:survey"
	approve := func(texts ...string) {
		t.Helper()
		_, _, list := ben.do(http.MethodGet, "/approvals", "")
		m := regexp.MustCompile(`href="(/approval\?name=dataset[^"]*)"`).FindStringSubmatch(list)
		if m == nil {
			t.Fatalf("nothing waits: %s", list)
		}
		at, _ := url.Parse(html.UnescapeString(m[1]))
		var position uint64
		_, _ = fmt.Sscan(at.Query().Get("proposal"), &position)
		form, page := ben.form(at.Query().Get("name"), position)
		for _, want := range texts {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q:\n%s", want, page)
			}
		}
		if code, _, body := ben.press(form); code != http.StatusSeeOther {
			t.Fatal(code, body)
		}
	}
	approve("gives its ledgers shares of its budget", `href="/dataset?id=survey"`)
	if _, err := ann.Propose(ctx, &pb.ProposeRequest{
		Lane: &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
		Propose: &pb.Propose{Action: &pb.Propose_AmendDataset{AmendDataset: &pb.AmendDataset{Reason: "r",
			Budgets: []*pb.Budget{servertest.Basic(5)}}}}}); err != nil {
		t.Fatal(err)
	}
	approve("ε 2.00 → 5.00", "&#43;150 %", "Nobody asserts")
	if got := o.limit(name); got != 5 {
		t.Errorf("the dataset's budget is %v; want 5", got)
	}
}

// Nobody approves who is not an officer, by the row of docs/access.md.
func TestWhoMayApproveOnThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| Approve \|([^\n]*)$`).FindSubmatch(text)
	if row == nil {
		t.Fatal("docs/access.md has no row of Approve")
	}
	cells := strings.Split(string(row[1]), "|")
	o := startOfficers(t)
	for i, role := range []string{"viewer", "reporter", "manager", "officer", "auditor", "administrator"} {
		may, name := strings.TrimSpace(cells[i]) == "yes", "team/"+role
		at := o.propose("ann", name, 3)
		them := o.loggedIn("a-" + role)
		form, page := them.form(name, at)
		if len(form) > 0 != may || !may && !strings.Contains(page, "ou may not approve it") {
			t.Errorf("%s: a form %v; want %v\n%s", role, form, may, page)
		}
		if !may { // somebody else's form does not help
			form, _ = o.loggedIn("ben").form(name, at)
		}
		code, _, body := them.press(form)
		if done := o.limit(name) == 3; done != may || may != (code == http.StatusSeeOther) {
			t.Errorf("%s: %d, approved %v; want %v\n%s", role, code, done, may, body)
		}
	}
	nobody := o.loggedIn("nobody")
	at := o.propose("ann", "team/x", 3)
	if code, _, body := nobody.do(http.MethodGet, approvalAt("team/x", at), ""); code != http.StatusForbidden {
		t.Errorf("nobody: %d %s", code, body)
	}
}

// The form is refused, and nothing is approved, whatever an attacker or a slip makes of it.
func TestApprovalsAreRefused(t *testing.T) {
	t.Parallel()
	o := startOfficers(t)
	at := o.propose("ann", "team/a", 3)
	ben := o.loggedIn("ben")
	good, _ := ben.form("team/a", at)
	ours := []string{urlencoded, own, "Sec-Fetch-Site: same-origin"}
	with := func(pairs ...string) url.Values {
		f := url.Values{}
		for k := range good {
			f.Set(k, good.Get(k))
		}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i], pairs[i+1])
		}
		return f
	}
	without := func(key string) url.Values { f := with(); f.Del(key); return f }
	twice := with()
	twice.Add("proposal", "99")
	ann, home := o.loggedIn("ann"), o.loggedIn("ann-at-home")
	eve := o.loggedIn("a-officer")
	hers, _ := eve.form("team/a", at)
	homes, _ := home.form("team/a", at)
	if len(homes) == 0 {
		t.Fatal("the page cannot know that ann-at-home is ann, so it has a form; the service refuses it")
	}
	token := o.issuer.Token("ben", nil)
	for _, c := range []struct {
		name    string
		by      seat
		at      string
		body    string
		headers []string
		code    int
		says    string
	}{
		{"another site", ben, "", with().Encode(), []string{urlencoded, "Origin: https://evil.test"}, 403, "Origin"},
		{"a sandboxed frame", ben, "", with().Encode(), []string{urlencoded, "Origin: null"}, 403, "Origin"},
		{"the same host without TLS", ben, "", with().Encode(), []string{urlencoded, "Origin: http://accountant.test"},
			403, "Origin"},
		{"another port", ben, "", with().Encode(), []string{urlencoded, own + ":8443"}, 403, "Origin"},
		{"another site by metadata", ben, "", with().Encode(), []string{urlencoded, own, "Sec-Fetch-Site: cross-site"},
			403, "Sec-Fetch-Site"},
		{"a neighbour's site", ben, "", with().Encode(), []string{urlencoded, "Sec-Fetch-Site: same-site"}, 403,
			"Sec-Fetch-Site"},
		{"typed into the address", ben, "", with().Encode(), []string{urlencoded, "Sec-Fetch-Site: none"}, 403,
			"Sec-Fetch-Site"},
		{"no origin", ben, "", with().Encode(), []string{urlencoded}, 403, "Origin: missing"},
		{"no token", ben, "", without("token").Encode(), ours, 400, "four fields"},
		{"an empty token", ben, "", with("token", "").Encode(), ours, 409, "not of this login"},
		{"somebody else's token", ben, "", with("token", hers.Get("token")).Encode(), ours, 409, "not of this login"},
		{"no digest", ben, "", without("digest").Encode(), ours, 400, "four fields"},
		{"an empty digest", ben, "", with("digest", "").Encode(), ours, 409, "have changed since"},
		{"another digest", ben, "", with("digest", strings.Repeat("0", 64)).Encode(), ours, 409, "have changed since"},
		{"a field twice", ben, "", twice.Encode(), ours, 400, "each once"},
		{"a comment twice", ben, "", with("comment", "a").Encode() + "&comment=b", ours, 400, "each once"},
		{"a long comment", ben, "", with("comment", strings.Repeat("x", 1025)).Encode(), ours, 400,
			"at most 1024 bytes"},
		{"a field more", ben, "", with("principal", "oidc:x").Encode(), ours, 400, "four fields"},
		{"another proposal", ben, "", with("proposal", fmt.Sprint(at+7)).Encode(), ours, 409, "does not wait"},
		{"no proposal", ben, "", with("proposal", "0").Encode(), ours, 400, "position"},
		{"another ledger", ben, "", with("name", "team/none").Encode(), ours, 404, ""},
		{"in the address", ben, "?" + with().Encode(), "", ours, 400, "cannot be read"},
		{"in both", ben, "?name=team/b", with().Encode(), ours, 400, "cannot be read"},
		{"as JSON", ben, "", `{"name":"team/a"}`, []string{"Content-Type: application/json", own}, 400, "four fields"},
		{"as text", ben, "", with().Encode(), []string{"Content-Type: text/plain", own}, 400, "four fields"},
		{"too long", ben, "", with("token", strings.Repeat("x", 1<<16)).Encode(), ours, 400, "cannot be read"},
		{"with a token of the API as well", ben, "", with().Encode(), append([]string{"Authorization: Bearer " + token},
			ours...), 401, "Only a login"},
		{"with a token of the API alone", o.seat(), "", with().Encode(),
			append([]string{"Authorization: Bearer " + token}, ours...), 401, "Only a login"},
		{"without a login", o.seat(), "", with().Encode(), ours, 401, ""},
		{"the proposer", ann, "", with("token", "x").Encode(), ours, 409, "not of this login"},
		{"the proposer under another name", home, "", homes.Encode(), ours, 409, "allowed: another person"},
	} {
		code, _, body := c.by.do(http.MethodPost, "/approval"+c.at, c.body, c.headers...)
		if code != c.code || !strings.Contains(html.UnescapeString(body), c.says) {
			t.Errorf("%s: %d; want %d and %q\n%s", c.name, code, c.code, c.says, body)
		}
		if o.limit("team/a") != 2 {
			t.Fatalf("%s: it was approved", c.name)
		}
	}
	if form, page := ann.form("team/a", at); len(form) > 0 || !strings.Contains(page, "proposed it yourself") {
		t.Errorf("the proposer has a form: %v", form)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodHead} {
		_, _, _ = ben.do(method, "/approval?"+with().Encode(), "", own)
		if o.limit("team/a") != 2 {
			t.Fatalf("%s has approved it", method)
		}
	}
	// No other site shows the page inside of its own, where somebody would press the button unseen.
	_, header, _ := ben.do(http.MethodGet, approvalAt("team/a", at), "")
	if header.Get("X-Frame-Options") != "DENY" || header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the headers: %v", header)
	}
	if code, _, _ := ben.do(http.MethodPost, "/logout", "", own); code != http.StatusSeeOther {
		t.Fatal("no logout:", code)
	}
	code, _, _ := ben.press(good)
	if again := o.loggedIn("ben"); code != 401 {
		t.Errorf("after the logout: %d", code)
	} else if code, _, body := again.press(good); code != 409 || !strings.Contains(body, "not of this login") {
		t.Errorf("the form of an ended session in a new one: %d %s", code, body)
	}
	if code, _, body := eve.press(hers); code != http.StatusSeeOther || o.limit("team/a") != 3 {
		t.Errorf("a good form after all this: %d %s", code, body)
	}
}

// A login that is not fresh shows what waits and approves nothing; a new login does. An issuer that does not say when
// it has asked, or says an old time, gives no fresh login.
func TestOldLoginsApproveNothing(t *testing.T) {
	t.Parallel()
	o := startOfficers(t)
	at := o.propose("ann", "team/a", 3)
	ben := o.seat()
	o.issuer.Login("ben", nil)
	if code, _, _ := ben.do(http.MethodGet, "/login", ""); code != http.StatusOK {
		t.Fatal(code)
	}
	form, page := ben.form("team/a", at)
	m := regexp.MustCompile(`href="(/login\?again=1[^"]*)">Log in again`).FindStringSubmatch(page)
	if len(form) > 0 || m == nil {
		t.Fatalf("an ordinary login: %v\n%s", form, page)
	}
	to := html.UnescapeString(m[1])
	for _, claims := range []func(map[string]any){
		func(c map[string]any) { delete(c, "auth_time") },
		func(c map[string]any) { c["auth_time"] = time.Now().Add(-11 * time.Minute).Unix() },
		func(c map[string]any) { c["auth_time"] = time.Now().Add(time.Hour).Unix() },
		func(c map[string]any) { c["auth_time"] = "now" },
		func(c map[string]any) { c["auth_time"] = 1e300 },
	} {
		o.issuer.Login("ben", claims)
		if code, _, body := ben.do(http.MethodGet, to, ""); code != http.StatusForbidden ||
			!strings.Contains(body, "auth_time") {
			t.Errorf("an issuer that does not ask: %d %s", code, body)
		}
	}
	// Nor does it by the API as JSON, so a cookie that somebody has copied is no second person.
	call := fmt.Sprintf(`{"lane": {"ledger": "team/a", "writer": %q, "sequence": 1}, "approve": {"proposal": %d}}`,
		servertest.Writer(), at)
	path := api.Path(api.Method("Approve"))
	if code, _, body := ben.do(http.MethodPost, path, call, "Content-Type: application/json", own); code !=
		http.StatusForbidden || !strings.Contains(body, "older than 10 minutes") || o.limit("team/a") != 2 {
		t.Errorf("an ordinary login by JSON: %d %s", code, body)
	}
	o.issuer.Login("ben", nil)
	if code, _, body := ben.do(http.MethodGet, to, ""); code != http.StatusOK ||
		!strings.Contains(html.UnescapeString(body), approvalAt("team/a", at)) {
		t.Fatalf("the new login: %d %s", code, body)
	}
	if form, page = ben.form("team/a", at); len(form) != 4 {
		t.Fatalf("after a new login: %v\n%s", form, page)
	}
	o.later.Store(int64(11 * time.Minute))
	if code, _, body := ben.press(form); code != http.StatusConflict ||
		!strings.Contains(body, "older than 10 minutes") || o.limit("team/a") != 2 {
		t.Errorf("eleven minutes later: %d %s", code, body)
	}
	o.later.Store(int64(9 * time.Minute))
	if code, _, body := ben.press(form); code != http.StatusSeeOther || o.limit("team/a") != 3 {
		t.Errorf("nine minutes after the login: %d %s", code, body)
	}
}

// Where nobody can log in the page shows the command, and takes no form.
func TestWithoutALoginThePageShowsTheCommand(t *testing.T) {
	t.Parallel()
	d := start(t, ruled(t, "grants:",
		"  - {roles: [officer, manager], on: [everything],",
		"     to: ['oidc:ISSUER#ann', 'oidc:ISSUER#ben', 'unverified:**']}",
		"two_people: {within: 1h}"))
	spec := servertest.Filter("team/a", servertest.Basic(2))
	d.create(t, spec)
	budget := proto.Clone(spec.GetBudgets()[0]).(*pb.Budget)
	budget.Epsilon = proto.Float64(3)
	o := officers{Server: d.Server, issuer: d.issuer, t: t}
	answer, err := o.client("ann").Propose(servertest.Context(t), &pb.ProposeRequest{
		Lane: &pb.Lane{Ledger: "team/a", Writer: servertest.Writer(), Sequence: 1}, Propose: &pb.Propose{
			Action: &pb.Propose_Raise{Raise: &pb.Raise{Budgets: []*pb.Budget{budget}, Reason: "r"}}}})
	if err != nil {
		t.Fatal(err)
	}
	at := approvalAt("team/a", answer.GetReceipt().GetPosition())
	page := d.page(t, at, d.issuer.Token("ben", nil))
	if !strings.Contains(page, "accountctl approvals approve team/a") || strings.Contains(page, "<button") {
		t.Errorf("without a login: %s", page)
	}
	r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodPost, "http://"+d.HTTPAddr+"/approval",
		strings.NewReader("name=team%2Fa&proposal=1&digest=x&token=x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+d.issuer.Token("ben", nil))
	if code, _, body := send(t, r); code != http.StatusUnauthorized || !strings.Contains(body, "Nobody can log in") {
		t.Errorf("a form: %d %s", code, body)
	}
}
