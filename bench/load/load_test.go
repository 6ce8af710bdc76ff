// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

const writerID = "123e4567-e89b-42d3-a456-426614174000"

func TestReportsAreOf120To200Bytes(t *testing.T) {
	for i, r := range reports() {
		c := &pb.Charge{Events: r.events, Labels: r.labels}
		alone := proto.Size(&pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "load/01234567/999", Writer: writerID, Sequence: 1},
			Charge: c,
		})
		streamed := proto.Size(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
			Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: 200000, Charge: c}}})
		if streamed < 120 || alone > 200 {
			t.Errorf("report %d: %d bytes in a stream, %d alone; want 120 to 200", i, streamed, alone)
		}
	}
}

func TestLoad(t *testing.T) {
	daemon := servertest.Start(t)
	for _, tc := range []struct {
		name    string
		args    []string
		reports int
	}{
		{"one stream", []string{"--streams", "1", "--window", "16", "--ledgers", "1", "--reports", "50"}, 100},
		{"streams", []string{"--streams", "5", "--window", "4", "--ledgers", "3", "--connections", "2",
			"--reports", "52"}, 52},
		{"calls", []string{"--unary", "--streams", "5", "--ledgers", "5", "--reports", "20"}, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := parse(append([]string{"--server", daemon.Addr, "--http", ""}, tc.args...), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			got, err := load(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if got.Reports != tc.reports || got.Rate <= 0 || got.P50 <= 0 || got.P99 < got.P50 || got.ServerCPU != nil {
				t.Errorf("%+v; want %d reports with their latencies, and no CPU of the server", got, tc.reports)
			}
		})
	}
}

// Through mutual TLS on both ports.
func TestLoadWithTLS(t *testing.T) {
	a := servertest.NewAuthority(t)
	files := endpoint.TLSFiles{ClientCA: a.File}
	files.Cert, files.Key = a.Issue("server", nil)
	daemon := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, HTTP: "127.0.0.1:0"}})
	cert, key := a.Issue("load", nil)
	s, err := parse([]string{"--server", daemon.Addr, "--http", daemon.HTTPAddr, "--tls-ca", a.File,
		"--tls-cert", cert, "--tls-key", key,
		"--streams", "2", "--ledgers", "2", "--reports", "20"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t.Context(), s)
	if err != nil || got.Reports != 20 || got.ServerCPU == nil {
		t.Errorf("%+v, %v; want 20 reports and the server's CPU", got, err)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"x"}, {"--streams", "0"}, {"--window", "0"}, {"--ledgers", "2"}, {"--reports", "0"},
		{"--streams", "2", "--connections", "3"}, {"--timeout", "0s"}, {"--tls-ca", "none.pem"},
		{"--query-every", "-1s"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q accepted", args)
		}
	}
	if _, err := serverCPU(t.Context(), "192.0.2.1:80", nil); err == nil {
		t.Error("another machine's metrics were asked for")
	}
}
