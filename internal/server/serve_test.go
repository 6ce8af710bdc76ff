// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const serviceName = "accountant.v1.Charges"

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func wantMetrics(t *testing.T, s *servertest.Server, lines ...string) {
	t.Helper()
	code, body := get(t, "http://"+s.HTTPAddr+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("metrics: %d %s", code, body)
	}
	for _, line := range lines {
		if !strings.Contains(body, line+"\n") && !strings.Contains(body, line+" ") {
			t.Errorf("metrics have no %s", line)
		}
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0"}})
	if code, body := get(t, "http://"+s.HTTPAddr+"/healthz"); code != http.StatusOK || body != "serving\n" {
		t.Errorf("healthz: %d %q", code, body)
	}
	if code, _ := get(t, "http://"+s.HTTPAddr+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
	s.NewLedger("measured")
	w := servertest.Writer()
	s.Report("measured", w, 1, one)
	s.Report("measured", w, 1, one)
	ctx := servertest.Context(t)
	if _, err := s.Client.Report(ctx,
		&pb.ReportRequest{Lane: &pb.Lane{Ledger: "measured", Writer: w, Sequence: 2, CheckOnly: true},
			Charge: one}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.Report(ctx,
		&pb.ReportRequest{Lane: &pb.Lane{Ledger: "measured", Writer: w, Sequence: 9}, Charge: one}); err == nil {
		t.Fatal("a gap was taken")
	}
	stream := s.Stream("measured", w)
	stream.Charge(2, one)
	stream.Acknowledged(2)
	stream.Charge(3, servertest.Gaussian(-1, 1))
	stream.Rejected()
	answer, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "measured"}, Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	wantMetrics(t, s,
		`accountant_charges_total{code="OK",outcome="accepted"} 2`,
		`accountant_charges_total{code="OK",outcome="replayed"} 1`,
		`accountant_charges_total{code="OK",outcome="checked"} 1`,
		`accountant_charges_total{code="FailedPrecondition",outcome="refused"} 1`,
		`accountant_charges_total{code="InvalidArgument",outcome="refused"} 1`,
		`accountant_refusals_total{reason="sequence number out of order"} 1`,
		`accountant_refusals_total{reason="invalid request"} 1`,
		`accountant_query_gap_count{analysis="`+answer.GetAnalysis()+`"} 1`,
		`accountant_queue_depth 0`,
		`accountant_store_bytes`,
		`accountant_ledgers 1`,
		`accountant_streams 1`,
		`accountant_batch_seconds_count 2`,
		`accountant_batch_entries_sum 2`,
		`accountant_query_seconds_count{analysis="`+answer.GetAnalysis()+`"} 1`,
		`grpc_server_handled_total{grpc_code="FailedPrecondition",grpc_method="Report",grpc_service="accountant.v1.Charges",grpc_type="unary"} 1`,
		`go_goroutines`, `process_open_fds`)
	for { // the store tells of a commit after it has answered: a ledger and two charges
		_, body := get(t, "http://"+s.HTTPAddr+"/metrics")
		if strings.Contains(body, "accountant_commit_group_sum 3\n") &&
			strings.Contains(body, "accountant_commit_records_total 3\n") {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("metrics after a minute:\n%s", body)
		}
	}
}

// Profiles are there only when they are asked for.
func TestProfile(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Profile: true}})
	for _, path := range []string{"", "goroutine?debug=1", "heap?debug=1"} {
		if code, body := get(t, "http://"+s.HTTPAddr+"/debug/pprof/"+path); code != http.StatusOK ||
			!strings.Contains(body, "goroutine") && !strings.Contains(body, "heap profile") {
			t.Errorf("%q: %d %.100q", path, code, body)
		}
	}
}

// Health says SERVING of the server and of the service, and a watcher does not
// hold up stopping.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := healthpb.NewHealthClient(s.Conn)
	for _, name := range []string{"", serviceName} {
		answer, err := client.Check(servertest.Context(t), &healthpb.HealthCheckRequest{Service: name})
		if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", name, answer, err)
		}
	}
	watch, err := client.Watch(servertest.Context(t), &healthpb.HealthCheckRequest{Service: serviceName})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := watch.Recv(); err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("watch: %v, %v", answer, err)
	}
	s.Stop()
	for err == nil {
		var answer *healthpb.HealthCheckResponse
		if answer, err = watch.Recv(); err == nil && answer.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("while stopping: %v", answer)
		}
	}
	wantError(t, err, codes.Canceled)
}

func TestReflection(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	stream, err := reflectionpb.NewServerReflectionClient(s.Conn).ServerReflectionInfo(servertest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(
		&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	for _, want := range []string{serviceName, "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("services %v; want %s", names, want)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
}

// A stream that has not said what it opens does not hold up stopping.
func TestStopWithUnopenedStream(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0"}})
	stream, err := s.Client.ReportStream(servertest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	for { // until the server knows of it
		if _, body := get(t, "http://"+s.HTTPAddr+"/metrics"); strings.Contains(body, "accountant_streams 1\n") {
			break
		}
	}
	s.Stop()
	_, err = stream.Recv()
	wantError(t, err, codes.Unavailable, "shutting down")
}

// The ready line names what was bound; the Unix socket serves the same.
func TestRunAndSocket(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	store := memory.New(memory.Config{})
	ctx, cancel := context.WithCancel(servertest.Context(t))
	ready, line := io.Pipe()
	done := make(chan error, 1)
	config := server.Config{Store: store, Listen: []string{"127.0.0.1:0"}, HTTP: "127.0.0.1:0",
		Socket: filepath.Join(dir, "accountant.sock"),
		Data:   "./my data", Version: "v1"}
	go func() { done <- server.Run(ctx, config, line) }()
	buffer := make([]byte, 4096)
	n, err := ready.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	text := string(buffer[:n])
	fields := strings.Fields(text)
	if !strings.HasPrefix(text, "accountantd ready listen=127.0.0.1:") || strings.Contains(text, ":0 ") ||
		strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, " socket="+config.Socket+" ") || !strings.Contains(text, ` data="./my data" `) ||
		!strings.Contains(text, " store="+store.ID()+" version=v1\n") {
		t.Errorf("ready line %q", text)
	}
	address := strings.TrimPrefix(fields[2], "listen=")
	for _, target := range []string{address, "unix:" + config.Socket} {
		conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.NewClient(conn).CreateLedger(ctx,
			&pb.CreateLedgerRequest{Spec: servertest.Spec("shared")})
		if err != nil {
			t.Errorf("%s: %v", target, err)
		}
		_ = conn.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

// A second server on the same address says which.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	_, err := server.Start(server.Config{Store: memory.New(memory.Config{}), Listen: []string{s.Addr}})
	if err == nil || !strings.Contains(err.Error(), s.Addr) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("second server: %v", err)
	}
}

// When the store has failed the server stops and says so.
func TestStoreFailed(t *testing.T) {
	t.Parallel()
	failed := make(chan struct{})
	var log bytes.Buffer
	running, err := server.Start(server.Config{Store: memory.New(memory.Config{}), Failed: failed,
		Listen: []string{"127.0.0.1:0"}, Logger: logTo(&log)})
	if err != nil {
		t.Fatal(err)
	}
	close(failed)
	if err := running.Serve(servertest.Context(t)); !errors.Is(err, server.ErrStoreFailed) {
		t.Errorf("serve: %v; want ErrStoreFailed", err)
	}
	if !strings.Contains(log.String(), "stopping") {
		t.Errorf("log %q", log.String())
	}
}
