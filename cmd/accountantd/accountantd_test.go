// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A second daemon on the same data ends with a clear error and does not disturb
// the first.
func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := start(t, dir)
	client := dial(t, "unix:"+d.ready["socket"])
	create(t, client, "first")
	code, stdout, stderr := exitCode(t, "--listen", "127.0.0.1:0", "--http", "", "--data", dir)
	if code != 1 || stdout != "" || !strings.Contains(stderr, dir) || !strings.Contains(stderr, "another process") ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("second daemon: exit %d, %q, %q; want 1 and one line that names the file", code, stdout, stderr)
	}
	create(t, client, "second") // over the same socket
	d.stop(syscall.SIGTERM)
}

// SIGTERM ends open streams in order and exits 0; the next start goes on.
func TestTerminate(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := start(t, dir, "--log-format", "json", "--log-level", "debug")
	info, err := os.Stat(filepath.Join(dir, "accountant.sock"))
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("socket: %v, %v; want mode 0600", info, err)
	}
	client := dial(t, d.ready["listen"])
	create(t, client, "open")
	w := uuid.NewString()
	stream, err := client.ReportStream(patiently(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*pb.ReportStreamRequest{
		{Message: &pb.ReportStreamRequest_Open_{Open: &pb.ReportStreamRequest_Open{Ledger: "open", Writer: w}}},
		{Message: &pb.ReportStreamRequest_Charge{Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: 1,
			Charge: charge()}}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	d.stop(syscall.SIGTERM)
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable ||
		!strings.Contains(err.Error(), "shutting down") {
		t.Errorf("stream: %v; want UNAVAILABLE", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "accountant.sock")); err == nil {
		t.Error("the socket is still there")
	}
	if log := d.stderr.String(); !strings.Contains(log, `"msg":"stopping"`) ||
		!strings.Contains(log, `"grpc.method":"ReportStream"`) {
		t.Errorf("log %s", log)
	}
	d = start(t, dir)
	answer, err := dial(t, d.ready["listen"]).GetWriter(patiently(t), &pb.GetWriterRequest{Ledger: "open", Writer: w})
	if err != nil || answer.GetLastSequence() != 1 {
		t.Errorf("after a restart: %v, %v", answer, err)
	}
	d.stop(syscall.SIGINT)
}

// Peers that say nothing hold up no orderly stop: without help from gRPC, which waits 20 s
// for each of them, the period would be over and the exit status 1.
func TestTerminateWithSilentPeers(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := start(t, dir, "--grace-period", "10s")
	create(t, dial(t, d.ready["listen"]), "quiet")
	for _, p := range [][2]string{{"tcp", d.ready["listen"]}, {"tcp", d.ready["http"]}, {"unix", d.ready["socket"]}} {
		c, err := net.Dial(p[0], p[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	d.stop(syscall.SIGTERM) // with status 0
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(dataDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--help"}, 0, "ACCOUNTANT_LISTEN", ""},
		{[]string{"--version"}, 0, "accountantd ", ""},
		{[]string{"--lisen", "x"}, 2, "", "unknown flag: --lisen"},
		{[]string{"start"}, 2, "", `argument: "start"; allowed: flags only`},
		{[]string{"--insecure=maybe"}, 2, "", "--insecure"},
		{[]string{"--listen", "0.0.0.0:0"}, 2, "",
			`listen: "0.0.0.0:0", which other machines can reach without TLS; allowed: a loopback address`},
		{[]string{"--http", ":0"}, 2, "", "http: "},
		{[]string{"--listen", "0.0.0.0:0,unix:///x"}, 2, "", "--tls-cert"},
		{[]string{"--listen", "unix:"}, 2, "", `listen: "unix:"; allowed: unix:///PATH`},
		{[]string{"--listen", "unix://" + strings.Repeat("s", 108)}, 2, "", "at most 107 bytes"},
		{[]string{"--socket-mode", "0999"}, 2, "", `socket-mode: "0999"; allowed: octal permissions`},
		{[]string{"--socket-mode", "4755"}, 2, "", `socket-mode: 04755; allowed: permissions from 0 to 0777`},
		{[]string{"--socket-owner", "nobody.such"}, 2, "", `socket-owner: "nobody.such"`},
		{[]string{"--socket-owner", "-1"}, 2, "", `socket-owner: "-1"`},
		{[]string{"--tls-cert", file}, 2, "", `tls-key: not given`},
		{[]string{"--tls-key", file}, 2, "", `tls-cert: not given`},
		{[]string{"--tls-client-ca", file}, 2, "", `allowed: a PEM file, with --tls-cert`},
		{[]string{"--tls-cert", file, "--tls-key", file + "x"}, 2, "", `no such file`},
		{[]string{"--tls-cert", file, "--tls-key", file}, 2, "", `allowed: PEM files of a certificate and its key`},
		{[]string{"--grace-period", "0s"}, 2, "", `grace-period: 0s; allowed: a duration > 0`},
		{[]string{"--question-time", "0s"}, 2, "", `question-time: 0s; allowed: a duration > 0`},
		{[]string{"--analyses", "-1"}, 2, "", `analyses: -1; allowed: a whole number ≥ 0`},
		{[]string{"--http-connections", "0"}, 2, "",
			`http-connections: 0; allowed: a whole number from 10 to 1000000; without the HTTP port: --http ""`},
		{[]string{"--http-connections", "9"}, 2, "", `http-connections: 9; allowed: a whole number from 10 to 1000000`},
		{[]string{"--listen", "nonsense"}, 2, "", "allowed: host:port"},
		{[]string{"--metrics-ledgers", "-1"}, 2, "", `metrics-ledgers: -1; allowed: a whole number ≥ 0`},
		{[]string{"--log-level", "loud"}, 2, "", `log-level: "loud"; allowed: debug, info, warn or error`},
		{[]string{"--log-format", "xml"}, 2, "", `log-format: "xml"; allowed: text or json`},
		{[]string{"--data", ""}, 2, "", `data: ""; allowed: a directory`},
		{[]string{"restore"}, 2, "", "arguments: 0; allowed: FILE, a backup (see --help)"},
		{[]string{"restore", file}, 2, "", "--data or --store: missing"},
		{[]string{"restore", file, "--listen", "x"}, 2, "", "unknown flag: --listen"},
		{[]string{"restore", "--help"}, 0, "accountctl ledger reconcile NAME", ""},
		{[]string{"restore", file, "--data", filepath.Dir(file)}, 1, "", "allowed: an empty directory"},
		{[]string{"restore", file, "--data", filepath.Join(filepath.Dir(file), "new")}, 1, "",
			"is refused, nothing was written: "},
		{[]string{"--data", "/" + strings.Repeat("d", 120)}, 2, "", "allowed: at most 107 bytes"},
		{[]string{"--listen", "127.0.0.1:0", "--http", "", "--data", file}, 1, "", "not a directory"},
	} {
		code, stdout, stderr := exitCode(t, c.args...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) ||
			c.code != 0 && (stdout != "" || strings.Count(stderr, "\n") != 1) {
			t.Errorf("%q: exit %d, %q, %q; want %d, %q, %q", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// Flags win over the environment, which wins over defaults.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	parse := func(env, args []string) (settings, error) {
		var got settings
		c := newCommand(env, func(_ context.Context, s settings) error { got = s; return nil })
		c.SetArgs(args)
		c.SetOut(&bytes.Buffer{})
		return got, c.ExecuteContext(t.Context())
	}
	got, err := parse(nil, nil)
	want := settings{listen: []string{"127.0.0.1:7878"}, http: "127.0.0.1:7879", data: "./data", socketMode: "0600",
		connections: 1000, dashboard: true, gracePeriod: 20 * time.Second, questionTime: 30 * time.Second,
		metricsLedgers: 1000, archiving: archiving{every: time.Minute},
		cooling:       cooling{after: 365 * 24 * time.Hour},
		scrubInterval: time.Hour, scrubRate: 16, logLevel: "info", logFormat: "text"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	env := []string{"ACCOUNTANT_LISTEN=127.0.0.1:1,unix:///s", "ACCOUNTANT_SOCKET_MODE=0660",
		"ACCOUNTANT_SOCKET_OWNER=:7",
		"ACCOUNTANT_TLS_CERT=c", "ACCOUNTANT_TLS_KEY=k", "ACCOUNTANT_TLS_CLIENT_CA=a", "ACCOUNTANT_GRACE_PERIOD=5s",
		"ACCOUNTANT_ANALYSES=3", "ACCOUNTANT_QUESTION_TIME=2s", "ACCOUNTANT_HTTP=", "ACCOUNTANT_DATA=/d",
		"ACCOUNTANT_INSECURE=true", "ACCOUNTANT_METRICS_LEDGERS=7", "ACCOUNTANT_DASHBOARD=false",
		"ACCOUNTANT_HTTP_CONNECTIONS=50",
		"ACCOUNTANT_SCRUB_INTERVAL=90m", "ACCOUNTANT_SCRUB_RATE=5",
		"ACCOUNTANT_LOG_LEVEL=debug", "ACCOUNTANT_LOG_FORMAT=json", "ACCOUNTANT_PPROF=1", "ACCOUNTANT_SERVER=elsewhere",
		"ACCOUNTANT_HELP=1", "ACCOUNTANT_VERSION=1"}
	got, err = parse(env, nil)
	want = settings{listen: []string{"127.0.0.1:1", "unix:///s"}, data: "/d", socketMode: "0660", socketOwner: ":7",
		gracePeriod: 5 * time.Second, analyses: 3, questionTime: 2 * time.Second,
		tls: endpoint.TLSFiles{Cert: "c", Key: "k", ClientCA: "a"}, insecure: true, metricsLedgers: 7,
		connections: 50, archiving: archiving{every: time.Minute},
		cooling:       cooling{after: 365 * 24 * time.Hour},
		scrubInterval: 90 * time.Minute, scrubRate: 5, pprof: true, logLevel: "debug", logFormat: "json"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("environment: %+v, %v", got, err)
	}
	got, err = parse(env, []string{"--listen", "127.0.0.1:2", "--insecure=false", "--http=127.0.0.1:3"})
	want.listen, want.insecure, want.http = []string{"127.0.0.1:2"}, false, "127.0.0.1:3"
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("flags: %+v, %v", got, err)
	}
	_, err = parse([]string{"ACCOUNTANT_INSECURE=maybe"}, nil)
	if err == nil || !strings.Contains(err.Error(), "ACCOUNTANT_INSECURE") ||
		exitStatus(err, false, &bytes.Buffer{}) != 2 {
		t.Errorf("bad environment: %v", err)
	}
}

// Several addresses, TLS on those of TCP, and the caller's proof in the ledger.
func TestAddresses(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	cert, key := a.Issue("server", nil)
	a.Issue("ann", nil)
	dir := dataDir(t)
	shared := filepath.Join(dir, "shared")
	d := start(t, dir, "--listen", "127.0.0.1:0,unix://"+shared, "--socket-mode", "0666",
		"--tls-cert", cert, "--tls-key", key, "--tls-client-ca", a.File)
	addresses := strings.Split(d.ready["listen"], ",")
	if len(addresses) != 3 || addresses[2] != "unix://"+shared {
		t.Fatalf("listen=%s; want two of TCP and the socket", d.ready["listen"])
	}
	for i, c := range []struct {
		target string
		secure credentials.TransportCredentials
		want   string
	}{
		{addresses[0], credentials.NewTLS(a.Client("ann")), "cn:ann"},
		{addresses[1], credentials.NewTLS(a.Client("ann")), "cn:ann"},
		{addresses[2], insecure.NewCredentials(), "uid:"},
		{"unix:" + d.ready["socket"], insecure.NewCredentials(), "uid:"},
	} {
		conn, err := grpc.NewClient(c.target, grpc.WithTransportCredentials(c.secure))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := api.NewClient(conn).CreateLedger(patiently(t), &pb.CreateLedgerRequest{
			Spec: &pb.LedgerSpec{Name: fmt.Sprintf("l%d", i), Adjacency: pb.Workload_ZERO_OUT}})
		if got := answer.GetLedger().GetPrincipal(); err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, %v; want %s", c.target, got, err, c.want)
		}
		_ = conn.Close()
	}
	d.stop(syscall.SIGTERM)
}
