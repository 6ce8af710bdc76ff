// SPDX-License-Identifier: Apache-2.0

package gate

// On returns the passage of the same call as if it were about one ledger. A call about several
// ledgers may pass if each of these passages may.
func (p *Passage) On(name string) *Passage {
	return &Passage{gate: p.gate, who: p.who, method: p.method, rule: p.rule,
		subject: subject{kind: onLedger, ledger: name}}
}
