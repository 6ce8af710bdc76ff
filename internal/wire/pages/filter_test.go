// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

func TestEntryFilter(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	const writer = "request/x"
	e := ledger.Entry{Position: 5, Writer: ledger.Writer{Principal: "p", Name: writer}, Time: at,
		Action: ledger.Charge{Labels: []ledger.Label{{Key: "run", Value: "1"}, {Key: "step", Value: "2"}}}}
	stamp := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(at.Add(d)) }
	for _, c := range []struct {
		request *pb.ListEntriesRequest
		selects bool
		says    string
	}{
		{request: &pb.ListEntriesRequest{}, selects: true},
		{request: &pb.ListEntriesRequest{Writer: writer}, selects: true},
		{request: &pb.ListEntriesRequest{Writer: "request/y"}},
		{request: &pb.ListEntriesRequest{Labels: map[string]string{"run": "1"}}, selects: true},
		{request: &pb.ListEntriesRequest{Labels: map[string]string{"run": "1", "step": "2"}}, selects: true},
		{request: &pb.ListEntriesRequest{Labels: map[string]string{"run": "2"}}},
		{request: &pb.ListEntriesRequest{Labels: map[string]string{"run": "1", "x": ""}}},
		{request: &pb.ListEntriesRequest{Since: stamp(0), Until: stamp(1)}, selects: true},
		{request: &pb.ListEntriesRequest{Since: stamp(1)}},
		{request: &pb.ListEntriesRequest{Until: stamp(0)}},
		{request: &pb.ListEntriesRequest{Since: stamp(1), Until: stamp(1)}, says: "until: "},
		{request: &pb.ListEntriesRequest{Since: &timestamppb.Timestamp{Nanos: -1}}, says: "since: "},
		{request: &pb.ListEntriesRequest{Writer: "x"}, says: "writer: "},
		{request: &pb.ListEntriesRequest{Labels: map[string]string{"": "1"}}, says: "labels: "},
		{request: &pb.ListEntriesRequest{StartPosition: 3, EndPosition: 2},
			says: "end_position: 2; allowed: at least start_position, 3"},
	} {
		c.request.Ledger = "a"
		page, err := ToEntries(c.request)
		if c.says != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%v: %v; want %s", c.request, err, c.says)
			}
			continue
		}
		if err != nil || page.Filter.Selects(e) != c.selects {
			t.Errorf("%v: %v; want %v", c.request, err, c.selects)
			continue
		}
		// A page token goes with its own filter only.
		next := proto.Clone(c.request).(*pb.ListEntriesRequest)
		next.StartPosition, next.PageToken = 0, page.Token(9)
		if again, err := ToEntries(next); err != nil || again.From != 9 {
			t.Errorf("%v: %v", next, err)
		}
		next.EndPosition = 77
		if _, err := ToEntries(next); err == nil {
			t.Errorf("%v: the token of another filter was taken", next)
		}
	}
}
