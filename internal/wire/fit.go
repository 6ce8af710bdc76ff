package wire

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

const (
	// maxAnswerBytes bounds an answer, in bytes of protobuf, below the 4 MiB that gRPC's
	// clients accept unless told otherwise.
	maxAnswerBytes = 7 << 19
	// maxAssumptionBytes bounds the texts of all assumptions in one list.
	maxAssumptionBytes = 512 << 10
	// shortAssumption is how much of each is left in a list that would be longer.
	shortAssumption = 256
)

// reservationsFrom are those from a position on; list is in the order of positions.
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

// fitReservations adds reservations to a ledger. The first is complete. Of the others,
// in their order, those are that fit into room with all that come after them in short.
func fitReservations(out *pb.Ledger, list []ledger.Reservation, room int) {
	for _, r := range list {
		line := &pb.Reservation{Position: r.Position, Child: r.Child, Principal: r.Principal,
			RestOmitted: true, RestCount: r.Total()}
		if r.Child == "" {
			line.ExpireTime = timestamppb.New(r.Deadline)
		}
		out.Reservations = append(out.Reservations, line)
		room -= proto.Size(line) + tagAndLength
	}
	for i, line := range out.GetReservations() {
		rest := FromEvents(ledger.Events(list[i].Rest))
		if room -= proto.Size(&pb.Reservation{Rest: rest}); room < 0 && i > 0 {
			return
		}
		line.Rest, line.RestOmitted, line.RestCount = rest, false, 0
	}
}

// tagAndLength is more than what a message takes in the one around it, besides itself.
const tagAndLength = 8

// shortened is list, with the beginning of each text only where all of them would be
// too long.
func shortened(list []ledger.Assumption) []ledger.Assumption {
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

// Cut is s, or its beginning and a mark that there was more, in at most limit bytes.
func Cut(s string, limit int) string {
	const mark = " …"
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(mark)], "") + mark
}

// fitMechanisms adds the mechanisms of a statement that fit into room and counts those
// that do not.
func fitMechanisms(out *pb.Statement, list []*pb.MechanismCount, room int) {
	for i, m := range list {
		if room -= proto.Size(m) + tagAndLength; room < 0 {
			out.MechanismsOmitted = uint32(len(list) - i)
			return
		}
		out.Mechanisms = append(out.Mechanisms, m)
	}
}
