// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// fleetLines are the two lines by which docs/fleet.md goes from one machine to a fleet, as arguments.
func fleetLines(t *testing.T, replaced ...string) (lines [][]string) {
	t.Helper()
	content, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n## From one machine to a fleet\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.ReplaceAll(section, "\\\n      ", "") // a command may go on in the next line
	replace := strings.NewReplacer(replaced...)
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			lines = append(lines, strings.Fields(replace.Replace(command)))
		}
	}
	if len(lines) != 2 {
		t.Fatalf("%d lines: %v; want 2", len(lines), lines)
	}
	return lines
}

// docs/fleet.md's way from one machine to a fleet, walked by its text with an empty database.
func TestPageFleet(t *testing.T) {
	testaid.Long(t, "it walks a page's commands with a database")
	data, files := dataDir(t), t.TempDir()
	key := filepath.Join(files, keyFile)
	lines := fleetLines(t, "move data --to-password-file password", "move "+data,
		"'postgres://accountant@db:5432/ledgers?sslmode=verify-full'",
		pgtest.Database(t),
		"--store-password-file password", "", "signing.key", key, "--data run", "")
	one := start(t, data)
	owner := dial(t, "unix:"+one.ready["socket"])
	create(t, owner, "l")
	report := func(at api.Client, writer string) *pb.Receipt {
		t.Helper()
		answer, err := at.Report(patiently(t),
			&pb.ReportRequest{Lane: &pb.Lane{Ledger: "l", Writer: writer, Sequence: 1}, Charge: charge()})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetReceipt()
	}
	first := report(owner, "request/first")

	one.stop(syscall.SIGTERM)
	if code, out, stderr := exitCode(t, lines[0][1:]...); code != 0 {
		t.Fatalf("%v: %d, %s%s", lines[0], code, out, stderr)
	}
	content, err := os.ReadFile(filepath.Join(data, keyFile))
	if err == nil {
		err = os.WriteFile(key, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fleet := []*daemon{start(t, dataDir(t), lines[1][1:]...), start(t, dataDir(t), lines[1][1:]...)}
	for i, d := range fleet {
		api := dial(t, d.ready["listen"])
		again := report(dial(t, "unix:"+d.ready["socket"]), "request/first")
		if !proto.Equal(again, first) {
			t.Errorf("daemon %d: receipt %v; want %v", i, again, first)
		}
		if next := report(api, "request/"+string(rune('a'+i))); next.GetPosition() != uint64(i)+2 {
			t.Errorf("daemon %d: %v", i, next)
		}
	}
}
