// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"accountctl": patiently})
}

// patience is how long a command and its daemon wait for an answer in tests, which may run beside much other work.
const patience = 5 * time.Minute

// patiently is the command with more time for each attempt of a call. A --timeout of the command's own counts.
func patiently() {
	os.Args = slices.Insert(os.Args, 1, "--timeout="+patience.String())
	main()
}

// TestScripts runs the real command against the real server; each script has
// ledgers of its own. SOCKET is the daemon's own socket, SECURE a second
// daemon that demands client certificates: CA, CERT and KEY are good. TOKEN is a file with ann's token from
// ISSUER, EXPIRED one with an old token. COMPANY is a daemon of its own that takes tokens and certificates, with
// the access policy of companyPolicy; BEN and JOB are files with tokens, and JOB1, JOB2 begin the names of
// certificates and keys. Besides testscript's commands there are
//
//	status N COMMAND ARGS…   the exit status is N, standard error one line (none for 0) beside warnings
//	json PATH OP VALUE       the last standard output is one JSON object whose value at
//	                         PATH ("a.0.b") is (==, >=, <=), or is absent
//	capture NAME REGEXP      sets NAME to what the group matches in the last output
//	same FILE FILE KEY…      the files hold equal JSON objects, apart from the KEYs
//	answers CODE             a server that answers every call with a gRPC code; sets FAKE
//	loses                    a server that does what it is asked but loses the answers to writes; sets FAKE
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	authority := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = authority.Issue("server", nil)
	files.ClientCA = authority.File
	secure := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, Version: "v9.9.9",
		QuestionTime: patience}})
	cert, key := authority.Issue("ann", nil)
	issuer := bearertest.New(t)
	real := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: socket, QuestionTime: patience,
		Issuers: []bearer.Issuer{{URL: issuer.URL, Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}}}})
	old := func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }
	for name, token := range map[string]string{"token": issuer.Token("ann", nil), "expired": issuer.Token("ann", old),
		"ben": issuer.Token("ben", nil), "job": issuer.Token("job", nil)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority.Issue("job1", nil)
	authority.Issue("job2", nil)
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(strings.ReplaceAll(companyPolicy, "ISSUER", issuer.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	company := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, AccessPolicy: policy,
		QuestionTime: patience,
		Issuers:      []bearer.Issuer{{URL: issuer.URL, Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}}}})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ACCOUNTANT_SERVER", real.Addr)
			env.Setenv("SOCKET", socket)
			env.Setenv("SECURE", secure.Addr)
			env.Setenv("CA", authority.File)
			env.Setenv("CERT", cert)
			env.Setenv("KEY", key)
			env.Setenv("ISSUER", issuer.URL)
			env.Setenv("TOKEN", filepath.Join(dir, "token"))
			env.Setenv("EXPIRED", filepath.Join(dir, "expired"))
			env.Setenv("COMPANY", company.Addr)
			env.Setenv("BEN", filepath.Join(dir, "ben"))
			env.Setenv("JOB", filepath.Join(dir, "job"))
			env.Setenv("JOBS", filepath.Dir(cert))
			env.Setenv("UID", strconv.Itoa(os.Getuid()))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command takes a second more under -race
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  exitsWith,
			"json":    hasJSON,
			"capture": capture,
			"same":    sameJSON,
			"answers": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				fake(ts, grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
					return status.Error(codes.Code(n), "as the test\nwants it")
				})))
			},
			"loses": func(ts *testscript.TestScript, _ bool, _ []string) {
				s := grpc.NewServer()
				api.Register(s, &losing{to: real.Client})
				fake(ts, s)
			},
		},
	})
}

// companyPolicy has two officers, and jobs whose reservations belong together.
const companyPolicy = `
version: 1
contact: privacy@example.org
people:
  ann: ["oidc:ISSUER#ann"]
  ben: ["oidc:ISSUER#ben"]
grants:
  - roles: [officer, manager, administrator]
    to: [person:ann, person:ben]
    on: [everything]
  - roles: [reporter]
    to: ["cn:job*", "oidc:ISSUER#job"]
    on: [prefix:vision/]
    holder: vision-jobs
  - roles: [auditor]
    to: ["oidc:ISSUER#job"]
    on: [prefix:vision/]
two_people:
  within: 72h
`

// losing passes calls on and loses the answers to writes.
type losing struct {
	api.Unimplemented
	to api.Client
}

var errLost = status.Error(codes.Unavailable, "lost")

func (l *losing) GetLedger(ctx context.Context,
	r *accountantv1.GetLedgerRequest) (*accountantv1.GetLedgerResponse, error) {
	return l.to.GetLedger(ctx, r)
}

func (l *losing) Report(ctx context.Context, r *accountantv1.ReportRequest) (*accountantv1.WriteResponse, error) {
	_, err := l.to.Report(ctx, r)
	return nil, errors.Join(errLost, err)
}

func (l *losing) CloseLedger(ctx context.Context,
	r *accountantv1.CloseLedgerRequest) (*accountantv1.WriteResponse, error) {
	_, err := l.to.CloseLedger(ctx, r)
	return nil, errors.Join(errLost, err)
}

// fake serves s for the rest of the script and sets FAKE to its address.
func fake(ts *testscript.TestScript, s *grpc.Server) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	go func() { _ = s.Serve(l) }()
	ts.Defer(s.Stop)
	ts.Setenv("FAKE", l.Addr().String())
}

// warning is a line that refuses nothing.
var warning = regexp.MustCompile(`(?m)^accountctl: (warning|note): .*\n`)

func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := 0, ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
	stderr := warning.ReplaceAllString(ts.ReadFile("stderr"), "")
	if want == cli.ExitDone && stderr != "" || want != cli.ExitDone &&
		(!strings.HasPrefix(stderr, "accountctl: ") || strings.Count(stderr, "\n") != 1 ||
			!strings.HasSuffix(stderr, "\n")) {
		ts.Fatalf("standard error is not one line “accountctl: …” (none for status 0): %q", stderr)
	}
}

func hasJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json PATH OP VALUE")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	var object map[string]any
	ts.Check(d.Decode(&object))
	if d.More() {
		ts.Fatalf("more than one JSON object")
	}
	value, found := dig(object, strings.Split(args[0], "."))
	if args[1] == "absent" {
		if found {
			ts.Fatalf("%s is %v, want absent", args[0], value)
		}
		return
	}
	if !found {
		ts.Fatalf("%s is absent", args[0])
	}
	got := fmt.Sprint(value)
	x, errX := strconv.ParseFloat(got, 64)
	y, errY := strconv.ParseFloat(args[2], 64)
	numbers := errX == nil && errY == nil
	var ok bool
	switch args[1] {
	case "==":
		ok = got == args[2] || numbers && x == y
	case ">=":
		ok = numbers && x >= y
	case "<=":
		ok = numbers && x <= y
	}
	if !ok {
		ts.Fatalf("%s is %s, want %s %s", args[0], got, args[1], args[2])
	}
}

func sameJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: same FILE FILE KEY…")
	}
	var objects [2]map[string]any
	for i := range objects {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &objects[i]))
		for _, key := range args[2:] {
			delete(objects[i], key)
		}
	}
	if len(objects[0]) == 0 || !reflect.DeepEqual(objects[0], objects[1]) {
		ts.Fatalf("not the same: %v, %v", objects[0], objects[1])
	}
}

// dig follows a path; "length" is the number of elements of a list.
func dig(value any, path []string) (any, bool) {
	for _, p := range path {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[p]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			if p == "length" {
				value = len(v)
				continue
			}
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if len(found) != 2 {
		ts.Fatalf("no match for %s with one group", args[1])
	}
	ts.Setenv(args[0], found[1])
}
