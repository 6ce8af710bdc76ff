// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// readLog reads all entries of a ledger with raw bytes, in pages, and verifies
// positions and the hash chain from the genesis on.
func readLog(t *testing.T, client api.Client, name string, pageSize uint32) []*pb.Entry {
	t.Helper()
	var all []*pb.Entry
	var hash ledger.Hash
	token := ""
	for page := 0; ; page++ {
		answer, err := client.ListEntries(servertest.Context(t), &pb.ListEntriesRequest{
			Ledger: name, PageSize: pageSize, PageToken: token, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := proto.Size(answer); n > 4<<20 {
			t.Errorf("a page of %d bytes; clients accept 4 MiB", n)
		}
		if (page == 0) != (len(answer.GetGenesis()) > 0) {
			t.Errorf("page %d has a genesis of %d bytes; want it on the first page only", page,
				len(answer.GetGenesis()))
		}
		if page == 0 {
			hash = record.GenesisHash(answer.GetGenesis())
		}
		for _, e := range answer.GetEntries() {
			all = append(all, e)
			hash = record.EntryHash(hash, e.GetRaw())
			if e.GetPosition() != uint64(len(all)) || string(e.GetHash()) != string(hash[:]) {
				t.Fatalf("entry %d has position %d and hash %x; want %x", len(all), e.GetPosition(), e.GetHash(), hash)
			}
		}
		if token = answer.GetNextPageToken(); token == "" {
			break
		}
	}
	answer, err := client.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if l := answer.GetLedger(); l.GetPosition() != uint64(len(all)) || string(l.GetHeadHash()) != string(hash[:]) {
		t.Errorf("head %v; want %x at %d", l, hash, len(all))
	}
	return all
}

// checkLog expects each of writers' charges 1 … each exactly once.
func checkLog(t *testing.T, client api.Client, name string, writers int, each uint64) {
	t.Helper()
	seen := map[string]uint64{}
	for _, e := range readLog(t, client, name, 1000) {
		seen[e.GetWriter()]++
		if e.GetSequence() != seen[e.GetWriter()] {
			t.Fatalf("writer %s: sequence %d; want %d", e.GetWriter(), e.GetSequence(), seen[e.GetWriter()])
		}
	}
	if len(seen) != writers {
		t.Errorf("%d writers; want %d", len(seen), writers)
	}
	for w, n := range seen {
		if n != each {
			t.Errorf("writer %s: %d charges; want %d", w, n, each)
		}
	}
}
