// SPDX-License-Identifier: Apache-2.0

package main

import (
	order "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// The root pages of a store's file, as bbolt writes them: where a page's transaction and
// the other fields of its root begin.
const (
	rootPageSize = 4096 // of a machine with such pages
	rootFields   = 16
	rootSize     = 64
	rootTx       = rootFields + 48
)

// newestRoot returns which root page has the newest transaction.
func newestRoot(content []byte) int {
	first, second := order.NativeEndian.Uint64(content[rootTx:]),
		order.NativeEndian.Uint64(content[rootPageSize+rootTx:])
	if second > first {
		return 1
	}
	return 0
}

// One byte of a root page is damaged while no daemon runs. Without a check the newest
// commit would be taken back without a word: bbolt takes the other page. After an orderly
// stop every such byte is found; after a kill no acknowledged charge is missing.
func TestDamagedRoot(t *testing.T) {
	if os.Getpagesize() != rootPageSize {
		t.Skip("pages of another size")
	}
	const budget = 10
	ctl := accountctl(t)
	for _, ending := range []string{"stopped", "killed"} {
		t.Run(ending, func(t *testing.T) {
			dir := dataDir(t)
			d := start(t, dir)
			socket := "unix:" + d.ready["socket"]
			must := func(args ...string) {
				t.Helper()
				if code, out := ctl(append(args, "--server", socket)...); code != 0 {
					t.Fatalf("%v: %d, %s", args, code, out)
				}
			}
			must("ledger", "create", "l", "--adjacency", "add-or-remove-one", "--budget",
				fmt.Sprintf("epsilon=%d,guard=basic", budget))
			for range budget {
				must("report", "l", "pure-dp", "--epsilon", "1")
			}
			if ending == "stopped" {
				d.stop(syscall.SIGTERM)
			} else {
				d.kill()
			}
			file := filepath.Join(dir, persist.FileName)
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(file + ".acknowledged")
			if err != nil {
				t.Fatal(err)
			}
			newest := newestRoot(whole)
			for at := 0; at < 24; at += testaid.Every(5) {
				page, field := newest, rootFields+at*5%rootSize
				if at >= 12 {
					page = 1 - newest
				}
				content := append([]byte(nil), whole...)
				content[page*rootPageSize+field] ^= 1 << (at % 8)
				if err := os.WriteFile(file, content, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file+".acknowledged", kept, 0o600); err != nil {
					t.Fatal(err)
				}
				if ending == "killed" && page != newest { // nothing is lost, and it is known
					verified(t, dir)
					d := start(t, dir)
					if code, out := ctl("report", "l", "pure-dp", "--epsilon", "1", "--server", socket); code != 3 {
						t.Errorf("byte %d of root %d: a charge over the budget: %d, %s", field, page, code, out)
					}
					d.stop(syscall.SIGTERM)
					continue
				}
				code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dir)
				if code != 1 || !strings.Contains(stderr, "accountantd restore") || strings.Count(stderr, "\n") != 1 {
					t.Errorf("byte %d of root %d: exit %d, %s", field, page, code, stderr)
				}
				if code, out := ctl("verify", "--data", dir); code != 1 ||
					!strings.Contains(out, "accountantd restore") {
					t.Errorf("byte %d of root %d: verify %d, %s", field, page, code, out)
				}
			}

			// The damaged file itself can be restored: its ledgers ask for what was lost.
			restored := filepath.Join(dataDir(t), "r")
			code, out, stderr := exitCode(t, "restore", file, "--data", restored)
			if code != 0 || !strings.Contains(out, "restored: 1 ledgers, which need reconciling") {
				t.Fatalf("%d: %s%s", code, out, stderr)
			}
			d = start(t, restored)
			if code, out := ctl("report", "l", "pure-dp", "--epsilon", "1", "--server",
				"unix:"+d.ready["socket"]); code != 3 || !strings.Contains(out, "needs reconciling") {
				t.Errorf("%d: %s", code, out)
			}
			d.stop(syscall.SIGTERM)
		})
	}
}
