// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Filter selects entries; the zero Filter selects all.
type Filter struct {
	To           uint64         // the last position; 0 for no bound
	Writer       string         // its name; empty for all
	Labels       []ledger.Label // an entry has all of them
	Since, Until time.Time      // from Since on, before Until; zero for no bound
	key          string         // stands for the filter in page tokens
}

// toFilter converts the filter of a request.
func toFilter(r *pb.ListEntriesRequest) (f Filter, err error) {
	f = Filter{To: r.GetEndPosition(), Writer: r.GetWriter()}
	if f.To > 0 && f.To < r.GetStartPosition() {
		return f, wire.Invalid("end_position", fmt.Sprint(f.To),
			fmt.Sprintf("at least start_position, %d", r.GetStartPosition()))
	}
	if f.Writer != "" {
		if _, err := wire.ToWriter("any", f.Writer); err != nil {
			return f, err
		}
	}
	if f.Labels, err = wire.ToLabels("labels", r.GetLabels()); err != nil {
		return f, err
	}
	if f.Since, err = toTime("since", r.GetSince()); err != nil {
		return f, err
	}
	if f.Until, err = toTime("until", r.GetUntil()); err != nil {
		return f, err
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, wire.Invalid("until", f.Until.Format(time.RFC3339Nano),
			"after since, "+f.Since.Format(time.RFC3339Nano))
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.ListEntriesRequest{EndPosition: r.GetEndPosition(),
		Writer: r.GetWriter(), Labels: r.GetLabels(), Since: r.GetSince(), Until: r.GetUntil()})
	if err == nil && len(b) > 0 {
		f.key = fmt.Sprintf(" %x", sha256.Sum256(b))
	}
	return f, err
}

func toTime(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if err := t.CheckValid(); err != nil {
		return time.Time{}, wire.Invalid(field, err.Error(), "a time from year 1 to 9999")
	}
	return t.AsTime(), nil
}

// Selects reports whether e, which is not past To, is selected.
func (f Filter) Selects(e ledger.Entry) bool {
	switch {
	case f.Writer != "" && e.Writer.Name != f.Writer,
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until):
		return false
	}
	if len(f.Labels) == 0 {
		return true
	}
	has := e.Action.Details().Labels
	for _, l := range f.Labels {
		if !slices.Contains(has, l) {
			return false
		}
	}
	return true
}
