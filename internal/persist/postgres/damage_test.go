// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// TestDamage: a changed, swapped or missing row of any table is found when the ledger is read or
// charged, by each daemon, and other ledgers go on.
func TestDamage(t *testing.T) {
	t.Parallel()
	const flip = "value = set_byte(value, length(value) - 1, get_byte(value, length(value) - 1) # 1)"
	for what, sql := range map[string]string{
		"head":        "UPDATE heads SET " + flip + " WHERE number = $1",
		"no head":     "DELETE FROM heads WHERE number = $1",
		"other head":  "UPDATE heads SET value = (SELECT value FROM heads WHERE number <> $1) WHERE number = $1",
		"entries":     "UPDATE tail SET " + flip + " WHERE number = $1",
		"no entries":  "DELETE FROM tail WHERE number = $1 AND last = 12",
		"first entry": "DELETE FROM tail WHERE number = $1 AND last = 1",
		"position":    "UPDATE heads SET position = position + 1 WHERE number = $1",
		"lane":        "UPDATE lanes SET " + flip + " WHERE number = $1",
		"request ID":  "UPDATE singles SET " + flip + " WHERE number = $1",
		"mechanism":   "UPDATE mechanisms SET " + flip + " WHERE number = $1",
		"no mechanism": "DELETE FROM mechanisms WHERE number = $1 AND index = " +
			"(SELECT max(index) FROM mechanisms WHERE number = $1)",
		"count":    "UPDATE counts SET " + flip + " WHERE number = $1",
		"no count": "DELETE FROM counts WHERE number = $1",
		"genesis": "UPDATE ledgers SET genesis = set_byte(genesis, length(genesis) - 1, " +
			"get_byte(genesis, length(genesis) - 1) # 1) WHERE number = $1",
		"name": "UPDATE ledgers SET name = 'other' WHERE number = $1",
	} {
		t.Run(what, func(t *testing.T) {
			c := Config{URL: database(t)}
			s := mustOpen(t, c)
			defer mustClose(t, s)
			for _, name := range []string{"l", "m"} {
				if _, _, err := s.Create(storetest.Genesis(name)); err != nil {
					t.Fatal(err)
				}
				for i := range 12 {
					if err := storetest.Charge(s, name, i); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := s.Append([]ledger.Proposal{proposal(t, s, "l", audittest.Writer(1000))}); err != nil {
				t.Fatal(err)
			}
			number := s.known.names["l"]
			execute(t, c.URL, sql, number)
			found := 0
			note := func(err error) {
				if errors.Is(err, ledger.ErrDamaged) || what == "name" && errors.Is(err, ledger.ErrNotFound) {
					found++
				} else if err != nil {
					t.Errorf("the error is %v", err)
				}
			}
			_, err := s.Load("l")
			note(err)
			_, err = s.Records("l", 1, 100)
			note(err)
			note(storetest.Charge(s, "l", 0))
			_, err = s.RecordOf("l", audittest.Writer(1000), 1)
			note(err)
			if found == 0 {
				t.Error("nobody noticed")
			}
			if err := storetest.Charge(s, "m", 0); err != nil {
				t.Errorf("another ledger: %v", err)
			}
		})
	}
}
