// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What comes late was charged by whatever ended the reservation, if its rest was as large.
func TestEnded(t *testing.T) {
	t.Parallel()
	part, other := Commit{Reservation: 1, Events: tenth(2)}, Reserve{Events: tenth(1), Lifetime: time.Hour}
	for name, x := range map[string]struct {
		then []Action
		by   Writer
		late uint32
		end  uint64
		says string
	}{
		"expired":           {[]Action{part, Expire{Reservation: 1}}, old, 3, 3, ""},
		"more":              {[]Action{part, Expire{Reservation: 1}}, old, 4, 0, "at most 3"},
		"closed":            {[]Action{Close{}}, old, 5, 2, ""},
		"released":          {[]Action{Release{Reservation: 1}}, old, 1, 0, "was given back by p in entry 2"},
		"used up":           {[]Action{Commit{Reservation: 1, Events: tenth(5)}}, old, 1, 0, "have used it"},
		"still open":        {nil, old, 6, 0, "have used it"},
		"another's end":     {[]Action{other, Expire{Reservation: 2}}, old, 1, 0, "have used it"},
		"another principal": {[]Action{Expire{Reservation: 1}}, Writer{"q", "w"}, 1, 0, "is of p, and you are q"},
	} {
		l := begin(t, resolved(t, filter(basic(2))))
		l.take(old, Reserve{Events: tenth(5), Lifetime: time.Hour})
		for _, v := range x.then {
			l.take(Writer{"p", "then"}, v)
		}
		ended, ok := Made(l.records[0].Entry)
		for _, r := range l.records[1:] {
			ended.Follow(r.Entry)
		}
		e, err := ended.Charged(Commit{Reservation: 1, Events: tenth(x.late)}, x.by)
		if !ok || e.Position != x.end || (err == nil) != (x.says == "") ||
			err != nil && (!errors.Is(err, ErrReservation) || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%s: entry %d, %v; want %d, %q", name, e.Position, err, x.end, x.says)
		}
	}
	l := begin(t, resolved(t, filter(basic(2))))
	l.take(old, Reserve{Events: tenth(5), Lifetime: time.Hour})
	l.take(restoring, restored)
	ended, _ := Made(l.records[0].Entry)
	ended.Follow(l.records[1].Entry)
	if e, err := ended.Charged(Commit{Reservation: 1, Events: tenth(5)}, old); err != nil || e.Position != 2 {
		t.Errorf("restored: entry %d, %v", e.Position, err)
	}
	if _, ok := Made(Entry{Action: Charge{}}); ok {
		t.Error("a charge is taken for a reservation")
	}
}
