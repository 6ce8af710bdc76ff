// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

const (
	// MaxAnswerBytes bounds an answer, in bytes of protobuf, below the 4 MiB that gRPC's
	// clients accept unless told otherwise.
	MaxAnswerBytes = 7 << 19
	// maxAssumptionBytes bounds the texts of all assumptions in one list.
	maxAssumptionBytes = 512 << 10
	// shortAssumption is how much of each is left in a list that would be longer.
	shortAssumption = 256
)

// reservationsFrom returns the reservations from a position on. The list is sorted by position.
func reservationsFrom(list []ledger.Reservation, from uint64) []ledger.Reservation {
	i, _ := slices.BinarySearchFunc(list, from, func(r ledger.Reservation, from uint64) int {
		switch {
		case r.Position < from:
			return -1
		case r.Position > from:
			return 1
		}
		return 0
	})
	return list[i:]
}

// FitReservations adds reservations to a ledger's message. The first one is complete. The ones after it
// are complete as long as they fit into room, together with the short form of all that follow.
func FitReservations(out *pb.Ledger, list []ledger.Reservation, room int) {
	for _, r := range list {
		line := &pb.Reservation{Position: r.Position, Child: r.Child, Principal: r.Principal, Holder: r.Holder,
			RestOmitted: true, RestCount: r.Total(), Contribution: FromContribution(r.Contribution)}
		if r.Child == "" {
			line.ExpireTime = timestamppb.New(r.Deadline)
		}
		out.Reservations = append(out.Reservations, line)
		room -= proto.Size(line) + TagAndLength
	}
	for i, line := range out.GetReservations() {
		rest := FromEvents(mechanism.EventsOf(list[i].Rest))
		if room -= proto.Size(&pb.Reservation{Rest: rest}); room < 0 && i > 0 {
			return
		}
		line.Rest, line.RestOmitted, line.RestCount = rest, false, 0
	}
}

// TagAndLength is an upper bound of the bytes that a message takes in an outer message besides its own.
const TagAndLength = 8

// Shortened returns the list as it is or, if its texts are too long together, with only the beginning of
// each text.
func Shortened(list []ledger.Assumption) []ledger.Assumption {
	n := 0
	for _, a := range list {
		n += len(a.Text)
	}
	if n <= maxAssumptionBytes {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Text = Cut(list[i].Text, shortAssumption)
	}
	return list
}

// Cut returns s if it has at most limit bytes. Otherwise it returns the beginning of s and a mark that
// there was more, in at most limit bytes together.
func Cut(s string, limit int) string {
	const mark = " …"
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(mark)], "") + mark
}
