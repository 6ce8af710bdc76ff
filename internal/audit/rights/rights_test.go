// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/gate"
)

var noon = time.Unix(1_700_000_000, 0)

// methods are the calls of the API that write each kind of entry.
var methods = map[string]string{"charge": "Report", "reserve": "Reserve", "commit": "Commit", "release": "Release",
	"close": "CloseLedger", "expire": "Expire", "acknowledge": "Acknowledge", "raise": "Raise", "refund": "Refund",
	"free": "Free", "reconcile": "Reconcile", "propose": "Propose", "withdraw": "Withdraw",
	"amend_dataset": "AmendDataset", "observe": "Observe"}

// Every kind of entry that somebody can ask for needs the role that the gate asks for.
func TestRolesAreThoseOfTheGate(t *testing.T) {
	for _, k := range ledger.ActionKinds() {
		kind := k.Name
		switch kind {
		case "restored", "access_policy", "adopt": // the daemon's own
			if _, ok := roles[kind]; ok {
				t.Errorf("%s needs a role, and no call of the API makes one", kind)
			}
			continue
		case "together": // in a journal; each member has an entry of its own, which needs the role
			continue
		}
		need, ok := roles[kind]
		if !ok || methods[kind] == "" {
			t.Errorf("%s has no role here; allowed: the one that the table of package gate has for its method", kind)
			continue
		}
		for _, has := range access.Roles() {
			text := fmt.Sprintf("version: 1\ngrants: [{roles: %v, to: 'cn:a', on: everything}]\n", has)
			p, err := access.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			want, _ := gate.Explain(p, access.Caller{Principal: "cn:a"},
				gate.Question{Method: methods[kind], Ledger: "x"}, nil)
			if got := has.Includes(need); got != want {
				t.Errorf("%s by a %v: %v; the gate says %v", kind, has, got, want)
			}
		}
	}
}

const two = `version: 1
people:
  ann: [cn:ann, uid:1000]
grants:
  - {roles: [officer, manager], to: ['person:ann', 'cn:ben'], on: everything}
  - {roles: reporter, to: ['uri:job', 'group:https://issuer.example#jobs'], on: 'prefix:team/'}
  - {roles: reporter, to: 'cn:data', on: 'dataset:survey'}
two_people: {within: 72h}
`

// What no caller can have done is found, under the policy that was in force; what somebody may have
// done of whom the entry does not say all is not.
func TestHistory(t *testing.T) {
	one := strings.Replace(two, "two_people: {within: 72h}\n", "", 1)
	raise, charge := ledger.Raise{Reason: "r"}, ledger.Charge{}
	by := func(proposer, person string) *ledger.Approval {
		return &ledger.Approval{Proposal: 1, Proposer: proposer, Person: person}
	}
	approvals := map[string]*ledger.Approval{
		"approved":                    by("cn:ann", "cn:ben"),
		"approved by the same person": by("uid:1000", "person:ann"),
		"approved as somebody else":   by("cn:ben", "person:ben"),
		"approved by no officer":      by("cn:ann", "cn:eve"),
		"approved by the owner":       by("cn:ann", "uid:0"),
	}
	propose := ledger.Propose{Action: raise, Person: "person:ann"}
	caps := ledger.AmendDataset{Caps: &ledger.Caps{Ledger: 0.5}}
	title := "t"
	for _, c := range []struct {
		name   string
		policy string
		ledger string
		by     string
		does   ledger.Action
		says   string // "" if it may be
	}{
		{"raised alone", two, "team/a", "cn:ann", raise, "two people: raise by cn:ann alone; expected: a proposal " +
			"and another person's approval, by the access policy of entry 1 of system:access"},
		{"raised alone by the owner", two, "team/a", "uid:0", raise, "raise by uid:0 alone"},
		{"raised alone by the daemon", two, "team/a", ledger.Daemon, raise, "raise by "},
		{"refunded alone", two, "team/a", "cn:ann", ledger.Refund{}, "refund by cn:ann alone"},
		{"a loss accepted alone", two, "team/a", "cn:ann", ledger.Reconcile{AcceptLoss: true}, "reconcile by cn:ann"},
		{"caps changed alone", two, "dataset:survey", "cn:ann", caps, "amend_dataset by cn:ann alone"},
		{"a larger budget alone", two, "dataset:survey", "cn:ann",
			ledger.AmendDataset{Budgets: []accountant.Budget{{Epsilon: 1}}}, "amend_dataset by cn:ann alone"},
		{"a title changed", two, "dataset:survey", "cn:ann", ledger.AmendDataset{Title: &title}, ""},
		{"raised by one, as one may", one, "team/a", "cn:ann", raise, ""},
		{"approved", two, "team/a", "cn:ben", raise, ""},
		{"approved by the same person", two, "team/a", "cn:ann", raise,
			"proposed by uid:1000 and approved by cn:ann, who are one person"},
		{"approved as somebody else", two, "team/a", "cn:ann", raise,
			"by person:ben; expected: an approval by cn:ann, who is person:ann"},
		{"approved by no officer", two, "team/a", "cn:eve", raise,
			"raise: by cn:eve, to whom no grant gives it; expected: by somebody with the role officer on ledger team"},
		{"approved by the owner", two, "team/a", "uid:0", raise, "by uid:0, to whom no grant"},
		{"proposed", two, "team/a", "cn:ann", propose, ""},
		{"proposed as somebody else", two, "team/a", "cn:ben", propose, "of person:ann; expected: a proposal of cn:b"},
		{"charged", two, "team/a", "uri:job", charge, ""},
		{"charged elsewhere", two, "other/a", "uri:job", charge, "charge: by uri:job, to whom no grant gives it"},
		{"charged below", two, "team/a/child", "uri:job", charge, ""},
		{"charged by its dataset", two, "other/survey", "cn:data", charge, ""},
		{"charged, not its dataset", two, "other/a", "cn:data", charge, "by cn:data"},
		{"charged by an officer", two, "team/a", "cn:ann", charge, "with the role reporter on ledger team/a"},
		{"charged perhaps by the owner", two, "team/a", "uid:77", charge, ""},
		{"charged perhaps by one of a group", two, "team/a", "oidc:https://issuer.example#x", charge, ""},
		{"proposed by one of a group", two, "team/a", "oidc:https://issuer.example#x",
			ledger.Propose{Action: raise, Person: "oidc:https://issuer.example#x"}, "with the role officer"},
		{"without a policy", "", "team/a", "cn:eve", raise, ""},
		{"a share by the daemon", two, "dataset:survey", ledger.Daemon, ledger.Reserve{Child: "c"}, ""},
	} {
		h := History{Spec: func(name string) (ledger.Spec, error) {
			return map[string]ledger.Spec{"team/a": {}, "team/a/child": {Parent: "team/a"}, "other/a": {},
				"other/survey": {DatasetID: "survey", Parent: "dataset:survey"}, "dataset:survey": {}}[name], nil
		}}
		add(t, &h, 1, 10, noon, c.policy)
		e := ledger.Entry{Position: 7, Time: noon.Add(time.Hour), Action: c.does, Approval: approvals[c.name]}
		e.Writer.Principal = c.by
		if err := h.Of(c.ledger).Wrote(9, e); err != nil {
			t.Errorf("%s, before the policy: %v", c.name, err)
		}
		if c.policy != "" && c.by != ledger.Daemon {
			e.Policy = 1
		}
		err := h.Of(c.ledger).Wrote(11, e)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "ledger "+c.ledger+": entry 7: ")) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
}

// A dataset with a budget of its own is registered by two people where the policy asks for them.
func TestRegisteredAlone(t *testing.T) {
	for name, c := range map[string]struct {
		policy  string
		dataset ledger.Dataset
		says    string
	}{
		"alone":               {two, ledger.Dataset{}, "registered by cn:ben alone"},
		"to be confirmed":     {two, ledger.Dataset{ToConfirm: true}, ""},
		"with another budget": {two, ledger.Dataset{BudgetOf: "dataset:survey"}, ""},
		"as one person may":   {strings.Replace(two, "two_people: {within: 72h}\n", "", 1), ledger.Dataset{}, ""},
	} {
		var h History
		add(t, &h, 1, 10, noon, c.policy)
		err := h.Of("dataset:new").Created(11, ledger.Genesis{Principal: "cn:ben", Time: noon.Add(time.Hour),
			Spec: ledger.Spec{Name: "dataset:new", Dataset: &c.dataset}, Policy: 1})
		if c.says == "" && err != nil || c.says != "" && !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}

func add(t *testing.T, h *History, position, record uint64, at time.Time, text string) {
	t.Helper()
	if err := h.Add(record, ledger.Entry{Position: position, Time: at,
		Action: ledger.AccessPolicy{Text: []byte(text)}}); err != nil {
		t.Fatal(err)
	}
}

// An entry is judged by the policy that it names, if that was in force or had been replaced a little before, and
// otherwise by the newest: nobody chooses a policy. What is newest the log says or, where only one ledger is known,
// times and what entries before have named.
func TestWhichPolicy(t *testing.T) {
	lax := strings.Replace(two, "two_people: {within: 72h}\n", "", 1)
	type wrote struct {
		record uint64 // 0: judged by the API alone
		after  time.Duration
		policy uint64
	}
	const second = 2 * time.Hour // when a policy asks for two people
	// What is found by times alone may be the work of a clock that was set back, and says so.
	byTimes := map[string]bool{"API: without one": true, "API: by the first, long after": true,
		"API: by the first, after an entry by the second": true}
	for _, c := range []struct {
		name  string
		wrote []wrote
		found bool // of the last one
	}{
		{"by the first", []wrote{{15, 90 * time.Minute, 1}}, false},
		{"before any", []wrote{{5, 30 * time.Minute, 0}}, false},
		{"without one, in the log after the first", []wrote{{15, 61*time.Minute - time.Second, 0}}, false},
		{"by the second", []wrote{{25, second, 2}}, true},
		{"let in before the second", []wrote{{25, second + time.Minute, 1}}, false},
		{"by the first, long after", []wrote{{25, second + time.Minute + 1, 1}}, true},
		{"without one, long after", []wrote{{25, second + time.Minute + 1, 0}}, true},
		{"by the first, at an early time", []wrote{{25, 0, 1}}, false},
		{"by the first, at an early time after a late one", []wrote{{25, 3 * time.Hour, 0}, {26, 0, 1}}, true},
		{"by one that came later", []wrote{{25, second, 4}}, true},
		{"by none that there is", []wrote{{25, second, 3}}, true},
		{"by none that there is, far away", []wrote{{25, second, 1 << 63}}, true},
		{"by the first, replaced by another and that by one that allows it", []wrote{{45, 5 * time.Hour, 1}}, false},
		{"by the newest", []wrote{{45, 9 * time.Hour, 4}}, false},
		{"there was none any more", []wrote{{55, 9 * time.Hour, 0}}, false},
		{"by the one before none", []wrote{{55, 9 * time.Hour, 4}}, false},
		{"of an archive, before policies in its log", []wrote{{5, second, 2}}, true},
		{"of an archive, after policies in its log", []wrote{{55, 90 * time.Minute, 1}}, false},

		{"API: before any", []wrote{{0, 30 * time.Minute, 0}}, false},
		{"API: by the first", []wrote{{0, 90 * time.Minute, 1}}, false},
		{"API: without one", []wrote{{0, second + 2*time.Minute, 0}}, true},
		{"API: by the first, long after", []wrote{{0, second + 2*time.Minute, 1}}, true},
		{"API: by the second, by a slow clock", []wrote{{0, second - time.Second, 2}}, true},
		{"API: by the fourth, by a slow clock", []wrote{{0, 4*time.Hour - time.Second, 4}}, false},
		{"API: by the first, after an entry by the second",
			[]wrote{{0, second + 2*time.Minute, 2}, {0, 90 * time.Minute, 1}}, true},
	} {
		h := History{Spec: func(string) (ledger.Spec, error) { return ledger.Spec{}, nil }}
		for i, p := range []struct {
			position uint64
			text     string
		}{{1, lax}, {2, two}, {4, lax}, {5, ""}} {
			record := uint64(10 + 10*i)
			if i > 1 {
				record += 10 // where another entry is
			}
			if c.wrote[0].record == 0 {
				record = 0
			}
			add(t, &h, p.position, record, noon.Add(time.Duration(p.position)*time.Hour), p.text)
		}
		l := h.Of("a")
		var err error
		for i, w := range c.wrote {
			e := ledger.Entry{Position: uint64(i + 1), Time: noon.Add(w.after), Policy: w.policy,
				Writer: ledger.Writer{Principal: "cn:ann"}, Action: ledger.Raise{}}
			if err = l.Wrote(w.record, e); err != nil && i+1 < len(c.wrote) && w.policy == 1 {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if (err != nil) != c.found {
			t.Errorf("%s: %v; found: %v", c.name, err, c.found)
		}
		if said := strings.Contains(fmt.Sprint(err), "clock was set back"); said != byTimes[c.name] {
			t.Errorf("%s: %v; it says what times cannot tell: %t", c.name, err, said)
		}
	}
}

// Who creates a ledger is its manager, and who registers a dataset an officer of everything.
func TestCreated(t *testing.T) {
	var h History
	add(t, &h, 1, 1, noon, two)
	for _, c := range []struct {
		by      string
		dataset *ledger.Dataset
		found   bool
	}{
		{"cn:ann", nil, false}, {"cn:ann", &ledger.Dataset{ToConfirm: true}, false}, {"cn:data", nil, true},
		{"cn:data", &ledger.Dataset{ToConfirm: true}, true}, {"uid:0", nil, false}, {ledger.Daemon, nil, false},
	} {
		spec := ledger.Spec{Name: "a", Dataset: c.dataset}
		g := ledger.Genesis{Spec: spec, Principal: c.by, Time: noon.Add(time.Hour), Policy: 1}
		if err := h.Of("a").Created(2, g); (err != nil) != c.found {
			t.Errorf("%s, %v: %v; found: %v", c.by, c.dataset, err, c.found)
		}
	}
}
