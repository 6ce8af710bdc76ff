// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// Entries of reservations show in the API what they are.
func TestReservationViews(t *testing.T) {
	names, entries := wiretest.GoldenEntries()
	shown := map[string]bool{}
	for i, e := range entries {
		p := FromRecord(ledger.Record{Entry: e}, false)
		switch names[i] {
		case "reserve":
			shown[names[i]] = p.GetReserve().GetLifetimeSeconds() == 3600 && len(p.GetReserve().GetEvents()) == 1 &&
				len(p.GetReserve().GetLabels()) == 2
		case "commit":
			shown[names[i]] = p.GetCommit().GetReservation() == 16 && len(p.GetCommit().GetEvents()) == 1 &&
				len(p.GetCommit().GetLabels()) == 2
		case "release":
			shown[names[i]] = p.GetRelease().GetReservation() == 16 && p.GetRelease().GetReason() == "job failed"
		case "expire":
			shown[names[i]] = p.GetExpire().GetReservation() == 16
		case "free":
			f := p.GetFree()
			shown[names[i]] = f.GetReservation() == 16 && f.GetNothingReleased() && len(f.GetEvents()) == 1 &&
				f.GetReason() == "the job died"
		}
	}
	if want := map[string]bool{"reserve": true, "commit": true, "release": true, "expire": true,
		"free": true}; !reflect.DeepEqual(shown, want) {
		t.Errorf("shown right: %v", shown)
	}
}
