// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"maps"
	"testing"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What counts of each kind of entry, and for which value of the label.
func TestSpending(t *testing.T) {
	noise := func(n uint32) []*accountantv1.Event { return servertest.Gaussian(2, n).Events }
	label := func(v string) map[string]string { return map[string]string{"run": v} }
	entries := []*accountantv1.Entry{
		{Action: &accountantv1.Entry_Charge{Charge: &accountantv1.Charge{Events: noise(5), Labels: label("a")}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(100), Labels: label("b")}}},
		{Action: &accountantv1.Entry_Commit{Commit: &accountantv1.Commit{Reservation: 2, Events: noise(10)}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(7)}}},
		{Action: &accountantv1.Entry_Refund{Refund: &accountantv1.Refund{Position: 1, Events: noise(5)}}},
		{Action: &accountantv1.Entry_Commit{Commit: &accountantv1.Commit{Reservation: 2,
			Events: noise(20), Labels: label("a")}}},
		{Action: &accountantv1.Entry_Expire{Expire: &accountantv1.Expire{Reservation: 2}}},
		{Action: &accountantv1.Entry_Release{Release: &accountantv1.Release{Reservation: 4}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(9), Labels: label("c")}}},
		{Action: &accountantv1.Entry_Free{Free: &accountantv1.Free{Reservation: 9, Events: noise(9)}}},
		{Action: &accountantv1.Entry_Charge{Charge: &accountantv1.Charge{Events: noise(3)}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(6), Labels: label("b")}}},
		{Action: &accountantv1.Entry_Restored{Restored: &accountantv1.Restored{}}},
		{Action: &accountantv1.Entry_Reconcile{Reconcile: &accountantv1.Reconcile{Events: noise(2)}}},
		{Action: &accountantv1.Entry_Close{Close: &accountantv1.Close{}}},
	}
	s := newSpending("run")
	for i, e := range entries {
		e.Position = uint64(i + 1)
		if err := s.add(e); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int64{}
	for value, spent := range s.spent {
		for _, n := range spent {
			got[value] += n
		}
	}
	// 5 − 5 + 20 of a; 10, the 70 that were left, and the 6 at the end of b; 3 and 2
	// without a label.
	if want := map[string]int64{"a": 20, "b": 86, unlabelled: 5}; !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if err := s.add(&accountantv1.Entry{Position: 14,
		Action: &accountantv1.Entry_Expire{Expire: &accountantv1.Expire{Reservation: 4}}}); err == nil {
		t.Error("a released reservation expired")
	}
}
