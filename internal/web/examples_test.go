// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// The examples of docs/http.md run as they stand there, against a daemon of their own, and the ledgers have
// what they say.
func TestExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, nil)
	token := d.issuer.Token("ann", nil)
	for _, c := range []struct {
		language, program, file string
		run                     []string
		blocks                  int
		says, ledger            string
		position                uint64
	}{
		{"sh", "curl", "example.sh", []string{"sh", "-e"}, 2, `"epsilonLower"`, "from-curl", 1},
		{"ts", "node", "example.mjs", []string{"node"}, 1, "position 3\n", "from-node", 3},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			blocks := fenced(string(page), c.language)
			if len(blocks) != c.blocks {
				t.Fatalf("docs/http.md has %d blocks of %s; want %d", len(blocks), c.language, c.blocks)
			}
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("%s is not installed", c.program)
			}
			// The page's address is that of a daemon started without flags; a test's port is any free one.
			text := strings.ReplaceAll(strings.Join(blocks, "\n"), "127.0.0.1:7879", d.HTTPAddr)
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(servertest.Context(t), c.run[0], append(c.run[1:], file)...)
			run.Env = append(os.Environ(), "ACCOUNTANT_HTTP=http://"+d.HTTPAddr, "ACCOUNTANT_TOKEN="+token)
			out, err := run.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.says) {
				t.Fatalf("%v: %s", err, out)
			}
			if got := d.Position(c.ledger); got != c.position {
				t.Errorf("%s is at %d; want %d", c.ledger, got, c.position)
			}
		})
	}
}

// fenced returns a page's blocks of a language.
func fenced(page, language string) (blocks []string) {
	for _, part := range strings.Split(page, "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block)
	}
	return blocks
}

// What HTTP answers is byte for byte what `accountctl --output json` writes of the same message.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.NewLedger("same")
	d.Report("same", servertest.Writer(), 1, servertest.Gaussian(1.1, 7))
	ledger, err := d.Client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "same"})
	if err != nil {
		t.Fatal(err)
	}
	privacy, err := d.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "same"}, Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, request string
		answer          proto.Message
	}{
		{"GetLedger", `{"name": "same"}`, ledger},
		{"QueryPrivacy", `{"ledger": "same", "delta": 1e-5}`, privacy},
	} {
		want, err := wirejson.Marshal(c.answer)
		if err != nil {
			t.Fatal(err)
		}
		if code, _, body := send(t, d.request(t, c.method, c.request)); code != 200 || body != string(want)+"\n" {
			t.Errorf("%s: %d %s\nwant %s", c.method, code, body, want)
		}
	}
}
