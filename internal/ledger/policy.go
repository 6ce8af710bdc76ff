package ledger

// AccessPolicy says that an access policy is in force from now on. Only the daemon writes it, in the
// ledger AccessLedger.
type AccessPolicy struct {
	Text []byte // of the policy; empty if there is none any more
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
	return nil
}

func (AccessPolicy) effect(*Batch, Entry) {}

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
