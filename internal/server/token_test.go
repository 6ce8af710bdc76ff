// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// tokened is a server that takes an issuer's tokens; its log has everything.
type tokened struct {
	*servertest.Server
	issuer *bearertest.Issuer
	log    *testaid.Log
	calls  int
}

func startTokened(t *testing.T, files endpoint.TLSFiles, listen ...string) *tokened {
	t.Helper()
	return startWithIssuer(t, bearertest.New(t), files, listen...)
}

func startWithIssuer(t *testing.T, issuer *bearertest.Issuer, files endpoint.TLSFiles, listen ...string) *tokened {
	t.Helper()
	s := &tokened{issuer: issuer, log: &testaid.Log{}}
	s.Server = servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, HTTP: "127.0.0.1:0",
		Listen: listen, Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Issuers: []bearer.Issuer{{URL: s.issuer.URL, CA: s.issuer.CA, Audiences: []string{bearertest.Audience},
			Patience: bearertest.Patience}}}})
	return s
}

// as is the principal for which a new ledger is recorded. The client says that it is ada, and sends
// each of authorization.
func (s *tokened) as(t *testing.T, target string, c credentials.TransportCredentials,
	authorization ...string) (string, error) {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(c))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx := metadata.AppendToOutgoingContext(servertest.Context(t), server.PrincipalKey, "ada")
	for _, a := range authorization {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", a)
	}
	s.calls++
	answer, err := api.NewClient(conn).CreateLedger(ctx,
		&pb.CreateLedgerRequest{Spec: servertest.Spec(fmt.Sprint("ledger-", s.calls))})
	return answer.GetLedger().GetPrincipal(), err
}

// clean fails the test if a part of a token is in the log or in the metrics.
func (s *tokened) clean(t *testing.T, web *http.Client, url string, tokens ...string) {
	t.Helper()
	answer, err := web.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	metrics, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		for _, part := range strings.Split(token, ".") {
			if len(part) > 16 && (strings.Contains(s.log.String(), part[len(part)-16:]) ||
				strings.Contains(string(metrics), part[len(part)-16:])) {
				t.Errorf("a part of a token is in the log or in the metrics: %.200q", part)
			}
		}
	}
}

// A token says who calls, on each kind of listener, whatever the connection or the client says; a bad
// one is refused, whatever the connection proves.
func TestTokens(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	a.Issue("client", nil)
	var one, mutual endpoint.TLSFiles
	one.Cert, one.Key = a.Issue("server", nil)
	mutual = one
	mutual.ClientCA = a.File
	path := filepath.Join(t.TempDir(), "s")
	plain := insecure.NewCredentials()
	s := startTokened(t, endpoint.TLSFiles{}, "unix://"+path)
	encrypted, both := startTokened(t, one), startTokened(t, mutual)
	uid := fmt.Sprintf("uid:%d", os.Getuid())
	for _, c := range []struct {
		name   string
		server *tokened
		target string
		with   credentials.TransportCredentials
		else_  string // who calls without a token; "" if that is refused
	}{
		{"loopback", s, s.Addr, plain, "unverified:ada"},
		{"a socket", s, "unix:" + path, plain, uid},
		{"TLS", encrypted, encrypted.Addr, credentials.NewTLS(a.Client("")), "unverified:ada"},
		{"a certificate", both, both.Addr, credentials.NewTLS(a.Client("client")), "cn:client"},
		{"no certificate where one is demanded", both, both.Addr, credentials.NewTLS(a.Client("")), ""},
	} {
		token := c.server.issuer.Token("system:serviceaccount:ml:trainer", nil)
		want := "oidc:" + c.server.issuer.URL + "#system:serviceaccount:ml:trainer"
		for _, scheme := range []string{"Bearer ", "bearer ", "BEARER   "} {
			if got, err := c.server.as(t, c.target, c.with, scheme+token); err != nil || got != want {
				t.Errorf("%s: %q, %v; want %q", c.name, got, err, want)
			}
		}
		got, err := c.server.as(t, c.target, c.with)
		if got != c.else_ || (err == nil) != (c.else_ != "") {
			t.Errorf("%s, without a token: %q, %v; want %q", c.name, got, err, c.else_)
		}
		if c.else_ == "" {
			wantError(t, err, codes.Unauthenticated, "no client certificate")
		}
		other := c.server.issuer.Token("ann", func(m map[string]any) { m["aud"] = "billing" })
		for authorization, says := range map[string]string{
			"Bearer " + other:                       "audience accountant",
			"Bearer " + token + ", Bearer " + token: "three parts",
			"Bearer":                                "three parts",
			"Bearer ../../etc/passwd":               "three parts",
			"Basic YW5uOnNlY3JldA==":                `"Bearer TOKEN"`,
			token:                                   `"Bearer TOKEN"`,
			"":                                      `"Bearer TOKEN"`,
			"Bearer " + strings.Repeat("a", 9000):   "at most 8192",
		} {
			_, err := c.server.as(t, c.target, c.with, authorization)
			wantError(t, err, codes.Unauthenticated, says)
		}
		_, err = c.server.as(t, c.target, c.with, "Bearer "+token, "Bearer "+token)
		wantError(t, err, codes.Unauthenticated, "more than once")
		_, err = c.server.as(t, c.target, c.with, "Bearer "+strings.Repeat("a", 100<<10))
		wantError(t, err, codes.Internal, "header list size") // gRPC's own, before it sends anything
		if !strings.Contains(c.server.log.String(), "principal="+want) {
			t.Errorf("%s: the log does not say who called", c.name)
		}
	}
	if !strings.Contains(both.log.String(), "peer.principal=cn:client") {
		t.Error("the log does not say whose connection it was")
	}
	s.clean(t, http.DefaultClient, "http://"+s.HTTPAddr+"/metrics", s.issuer.Token("system:serviceaccount:ml:trainer",
		nil))
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: a.Client("client")}}
	defer web.CloseIdleConnections()
	both.clean(t, web, "https://"+both.HTTPAddr+"/metrics", both.issuer.Token("system:serviceaccount:ml:trainer", nil))
}

// A daemon that takes no tokens says so to whoever would be nobody without one, and leaves others alone.
func TestNoIssuer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	s := &tokened{issuer: bearertest.New(t), log: &testaid.Log{}, Server: servertest.StartWith(t,
		servertest.Config{Server: server.Config{Listen: []string{"unix://" + path}}})}
	token := "Bearer " + s.issuer.Token("ann", nil)
	_, err := s.as(t, s.Addr, insecure.NewCredentials(), token)
	wantError(t, err, codes.Unauthenticated, "--token-issuer")
	want := fmt.Sprintf("uid:%d", os.Getuid())
	if got, err := s.as(t, "unix:"+path, insecure.NewCredentials(), token); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := s.as(t, s.Addr, insecure.NewCredentials(), "Basic eDp5"); err != nil || got != "unverified:ada" {
		t.Errorf("%q, %v", got, err)
	}
}

// soon gives a token that counts for a second more: the daemon adds its leeway to the end.
func soon(c map[string]any) { c["exp"] = time.Now().Add(time.Second - bearer.Leeway).Unix() }

func (s *tokened) context(t *testing.T, token string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(servertest.Context(t), "authorization", "Bearer "+token)
}

// beforeItEnds opens a stream with a token that counts for a second more. On a machine that has much to do
// that second may pass before the call arrives: then it takes another token.
func (s *tokened) beforeItEnds(t *testing.T, open func(token string) error) {
	t.Helper()
	var err error
	for range 20 {
		if err = open(s.issuer.Token("ann", soon)); status.Code(err) != codes.Unauthenticated {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A stream ends with its token, after the answers that it is owed; with the next token it goes on where
// it was. A watcher's stream ends, too.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	s := startTokened(t, endpoint.TLSFiles{})
	writer := servertest.Writer()
	if _, err := s.Client.CreateLedger(s.context(t, s.issuer.Token("ann", nil)),
		&pb.CreateLedgerRequest{Spec: servertest.Spec("ends")}); err != nil {
		t.Fatal(err)
	}
	var short string
	var watch pb.Ledgers_WatchLedgerClient
	s.beforeItEnds(t, func(token string) error {
		var err error
		if watch, err = s.Client.WatchLedger(s.context(t, token), &pb.WatchLedgerRequest{Name: "ends"}); err == nil {
			_, err = watch.Recv()
		}
		short = token
		return err
	})
	acknowledged := uint64(0)
	for round, wrote := 0, 0; wrote < 3; round++ {
		if round == 50 {
			t.Fatalf("something was written in %d of %d rounds only", wrote, round)
		}
		var stream pb.Charges_ReportStreamClient
		var answer *pb.ReportStreamResponse
		s.beforeItEnds(t, func(token string) (err error) {
			if stream, err = s.Client.ReportStream(s.context(t, token)); err != nil {
				return err
			}
			if err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
				Open: &pb.ReportStreamRequest_Open{Ledger: "ends", Writer: writer}}}); err == nil || err == io.EOF {
				answer, err = stream.Recv()
			}
			return err
		})
		last := answer.GetOpened().GetLastSequence()
		if last != acknowledged {
			t.Errorf("round %d: %d are written, %d were acknowledged: an answer was owed", round, last, acknowledged)
		}
		go func() {
			for sent := last + 1; ; sent++ {
				charge := &pb.ReportStreamRequest_SequencedCharge{Sequence: sent, Charge: servertest.Gaussian(2, 1)}
				if stream.Send(&pb.ReportStreamRequest{
					Message: &pb.ReportStreamRequest_Charge{Charge: charge}}) != nil {
					return
				}
			}
		}()
		for {
			answer, err := stream.Recv()
			if err != nil {
				wantError(t, err, codes.Unauthenticated, "its time is over")
				break
			}
			acknowledged = answer.GetAcknowledged().GetThrough()
		}
		if acknowledged > last { // not if the token's time was over just after the stream was open
			wrote++
		}
	}
	if got := s.position(t, "ends"); got != acknowledged {
		t.Errorf("the ledger has %d entries, %d were acknowledged", got, acknowledged)
	}
	var err error
	for err == nil {
		_, err = watch.Recv()
	}
	wantError(t, err, codes.Unauthenticated, "its time is over")
	s.clean(t, http.DefaultClient, "http://"+s.HTTPAddr+"/metrics", short)
}

func (s *tokened) position(t *testing.T, name string) uint64 {
	t.Helper()
	answer, err := s.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetLedger().GetPosition()
}

// A charge that a token's holder makes is recorded as theirs; nobody else writes in their lane.
func TestTokenCharges(t *testing.T) {
	t.Parallel()
	s := startTokened(t, endpoint.TLSFiles{})
	s.NewLedger("charges")
	writer := servertest.Writer()
	for n, name := range []string{"ann", "bob"} {
		if _, err := s.Client.Report(s.context(t, s.issuer.Token(name, nil)), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "charges", Writer: writer, Sequence: 1},
			Charge: servertest.Gaussian(2, 1),
		}); err != nil {
			t.Fatal(err)
		}
		list, err := s.Client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{Ledger: "charges"})
		if err != nil {
			t.Fatal(err)
		}
		entries := list.GetEntries()
		want := "oidc:" + s.issuer.URL + "#" + name
		if len(entries) != n+1 || entries[n].GetPrincipal() != want {
			t.Errorf("%v; want an entry of %s", entries, want)
		}
	}
}

// While an issuer has never answered, its tokens could not be checked: clients try again.
func TestIssuerDown(t *testing.T) {
	t.Parallel()
	issuer := bearertest.New(t)
	issuer.Down(true)
	s := startWithIssuer(t, issuer, endpoint.TLSFiles{})
	_, err := s.as(t, s.Addr, insecure.NewCredentials(), "Bearer "+issuer.Token("ann", nil))
	wantError(t, err, codes.Unavailable, "does not give its keys", issuer.URL)
}
