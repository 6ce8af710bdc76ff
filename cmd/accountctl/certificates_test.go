// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// The commands that deploy/README.md shows make certificates by which a daemon and a caller know each other, and the
// caller by the name that the page says. Without a certificate nobody gets in.
func TestCertificatesOfThePage(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl, whose commands these are")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "deploy", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "### Making certificates")
	_, text, _ = strings.Cut(text, "```sh\n")
	commands, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the page has no commands that make certificates")
	}
	t.Chdir(t.TempDir())
	if out, err := exec.Command("sh", "-ec", commands).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{
		TLS: endpoint.TLSFiles{Cert: "tls.crt", Key: "tls.key", ClientCA: "ca.crt"}}})
	whoami := []string{"access", "whoami", "--server", s.Addr, "--tls-ca", "ca.crt", "--tls-server-name",
		"accountant.example.org"}
	var stdout, stderr bytes.Buffer
	none := func(string) string { return "" }
	status := run(t.Context(), append(whoami, "--tls-cert", "ann.crt", "--tls-key", "ann.key"), none,
		strings.NewReader(""), &stdout, &stderr)
	if status != 0 || !strings.Contains(stdout.String(), "cn:ann\n") {
		t.Errorf("exit status %d, %s%s; want the principal cn:ann", status, stdout.String(), stderr.String())
	}
	if run(t.Context(), whoami, none, strings.NewReader(""), &stdout, &stderr) == 0 {
		t.Error("somebody without a certificate was let in")
	}
}
