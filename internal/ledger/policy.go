// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"fmt"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// AccessPolicy says that an access policy is in force from now on. Only the daemon writes it, in the
// ledger AccessLedger.
type AccessPolicy struct {
	SHA256 Hash   `field:"1" decided:"it is that of the text"`
	Text   []byte `field:"2" most:"262144"` // of the policy; empty if there is none any more
}

// Kind implements Action.
func (AccessPolicy) Kind() string { return "access_policy" }

// Details implements Action.
func (v AccessPolicy) Details() Details { return Details{More: len(v.Text)} }

// reconciles: a policy charges nothing.
func (AccessPolicy) reconciles() bool { return true }

func (v AccessPolicy) decide(b *Batch) error {
	if name, by := b.spec().Name, b.request.Writer.Principal; name != AccessLedger || by != Daemon {
		return refuse(ErrSystem, "access policy: in ledger %s by %s; allowed: in %s, by the daemon", name, by,
			AccessLedger)
	}
	v.SHA256 = sha256.Sum256(v.Text)
	b.request.Action = v
	return nil
}

// CheckDecided checks what the decision has set.
func (v AccessPolicy) CheckDecided() error {
	if sum := Hash(sha256.Sum256(v.Text)); sum != v.SHA256 {
		return &mechanism.ParameterError{Field: "sha256", Value: fmt.Sprintf("%x", v.SHA256),
			Allowed: fmt.Sprintf("%x, that of the text", sum)}
	}
	return nil
}

// kept refuses what the daemon's own ledgers do not take.
func (b *Batch) kept(r Request) error {
	name := b.spec().Name
	if !IsSystem(name) || r.Writer.Principal == Daemon {
		return nil
	}
	if name == AccessLedger {
		return refuse(ErrSystem, "ledger: %s keeps the access policies; allowed: any other ledger", AccessLedger)
	}
	if _, ok := r.Action.(Together); !ok {
		return refuse(ErrSystem, "ledger: %s says what was charged to several ledgers together, and takes nothing "+
			"else; allowed: any other ledger", name)
	}
	return nil
}
