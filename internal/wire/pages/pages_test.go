// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// checkInvalid wants a *wire.InvalidError for field with what is allowed.
func checkInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var e *wire.InvalidError
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *wire.InvalidError of %s", err, field)
	}
	if e.Field != field || e.Value == "" || e.Allowed == "" {
		t.Fatalf("error = %q, want field %s with a value and what is allowed", e, field)
	}
}

func TestLedgerPages(t *testing.T) {
	page, err := ToLedgers(&pb.ListLedgersRequest{})
	if err != nil || page.Limit != defaultSize || page.Prefix != "" || page.After != "" {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = ToLedgers(&pb.ListLedgersRequest{Prefix: "a/", PageSize: MaxSize})
	if err != nil || page.Limit != MaxSize || page.Prefix != "a/" || page.After != "" {
		t.Errorf("%+v, %v", page, err)
	}
	token := page.TokenAt("a/b", "")
	next, err := ToLedgers(&pb.ListLedgersRequest{Prefix: "a/", PageSize: 5, PageToken: token})
	if err != nil || next.Limit != 5 || next.Prefix != "a/" || next.After != "a/b" || next.Hidden != "" {
		t.Errorf("%+v, %v", next, err)
	}
	for field, r := range map[string]*pb.ListLedgersRequest{
		"page_size":  {PageSize: MaxSize + 1},
		"prefix":     {Prefix: "A"},
		"page_token": {Prefix: "b/", PageToken: token},
	} {
		_, err := ToLedgers(r)
		checkInvalid(t, err, field)
	}
	entries := Entries{Ledger: "a"}.Token(3)
	for _, wrong := range []string{"x", "*", entries, token[:len(token)-2], token + "A",
		page.TokenAt("A", ""), strings.Repeat("x", 10000)} {
		_, err := ToLedgers(&pb.ListLedgersRequest{Prefix: "a/", PageToken: wrong})
		if err == nil && wrong == token[:len(token)-2] {
			continue // a shorter name is a name too
		}
		checkInvalid(t, err, "page_token")
	}
}

func TestEntryPages(t *testing.T) {
	page, err := ToEntries(&pb.ListEntriesRequest{Ledger: "a"})
	if err != nil || !reflect.DeepEqual(page, Entries{Ledger: "a", From: 1, Limit: defaultSize}) {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = ToEntries(&pb.ListEntriesRequest{Ledger: "a", StartPosition: 7, PageSize: 2})
	if err != nil || !reflect.DeepEqual(page, Entries{Ledger: "a", From: 7, Limit: 2}) {
		t.Errorf("%+v, %v", page, err)
	}
	token := page.Token(math.MaxUint64)
	next, err := ToEntries(&pb.ListEntriesRequest{Ledger: "a", PageToken: token})
	if err != nil || !reflect.DeepEqual(next, Entries{Ledger: "a", From: math.MaxUint64, Limit: defaultSize}) {
		t.Errorf("%+v, %v", next, err)
	}
	for _, c := range []struct {
		field string
		r     *pb.ListEntriesRequest
	}{
		{"ledger", nil},
		{"ledger", &pb.ListEntriesRequest{Ledger: "A"}},
		{"page_size", &pb.ListEntriesRequest{Ledger: "a", PageSize: math.MaxUint32}},
		{"start_position", &pb.ListEntriesRequest{Ledger: "a", StartPosition: 1, PageToken: token}},
		{"page_token", &pb.ListEntriesRequest{Ledger: "b", PageToken: token}},
		{"page_token", &pb.ListEntriesRequest{Ledger: "a", PageToken: page.Token(0)}},
		{"page_token", &pb.ListEntriesRequest{Ledger: "a", PageToken: Page{}.TokenAt("a", "")}},
		{"page_token", &pb.ListEntriesRequest{Ledger: "a", PageToken: toToken(tokenEntries, "a", "-1")}},
	} {
		_, err := ToEntries(c.r)
		checkInvalid(t, err, c.field)
	}
}
