package ledger

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A set is a list of ledgers, its members, that are charged together: all of them or none. What was
// done is written down once in a journal, a ledger of the daemon's own, in the lane of whoever asked
// for it, and once in each member, as an ordinary entry that says where the journal's entry is. The
// journal's entry holds the request's key, so it decides what is done once and what is a duplicate.
// docs/decisions/sets.md.

const (
	// MaxMembers bounds the ledgers of one set.
	MaxMembers = 1000
)

// Contribution says whose rows the sensitivity of a charge to several ledgers bounds.
type Contribution uint8

const (
	InEach            Contribution = 1 + iota // a person's in each ledger
	RowsDrawnInEach                           // as InEach, where samples draw rows
	PeopleDrawnInEach                         // as InEach, where samples draw people, with the rows of all ledgers
	OverAll                                   // a person's in all of the ledgers together
)

// Valid reports whether c is one of them.
func (c Contribution) Valid() bool { return c >= InEach && c <= OverAll }

// SetPart says that an entry is its ledger's part of what was done in a set.
type SetPart struct {
	Journal  uint8 // its number
	Position uint64
	Members  uint32   // how many there are
	Names    [32]byte // of all members: NamesHash

	Contribution Contribution
}

// NamesHash is SHA-256 of the members' names in order, each followed by a byte of 0, which is in no
// name.
func NamesHash(members []Member) [32]byte {
	h := sha256.New()
	for _, m := range members {
		h.Write([]byte(m.Ledger)) // which never fails
		h.Write([]byte{0})
	}
	return [32]byte(h.Sum(nil))
}

// SetWriter is the writer of a principal's parts of sets.
func SetWriter(principal string) Writer { return Writer{principal, SetLane} }

// checkPart refuses an entry that is a set's part in the lane of a user, or in a lane of sets and no
// part; and what cannot be a part.
func (b *Batch) checkPart(r Request) error {
	if r.Set == nil {
		if r.Writer.Name == SetLane {
			return refuse(ErrSet, "writer: %s; allowed: entries that are part of a set", r.Writer.Name)
		}
		return nil
	}
	_, joint := r.Action.(joint)
	if r.Writer != SetWriter(r.Writer.Principal) || !joint || r.Set.Journal >= Journals {
		return refuse(ErrSet, "%s of writer %s in journal %d; allowed: a charge, a reservation, a commit or a release "+
			"in the lane of sets", r.Action.Kind(), r.Writer.Name, r.Set.Journal)
	}
	if !r.Set.Contribution.Valid() {
		return refuse(ErrSet, "contribution: %d; allowed: one that is known", r.Set.Contribution)
	}
	if b.spec().OverAllOnly && r.Set.Contribution != OverAll {
		return refuse(ErrSet, "ledger: %s was created to take charges to several ledgers only where the sensitivity "+
			"bounds a person's rows in all of them together; allowed: the contribution OVER_ALL", b.spec().Name)
	}
	if name := b.spec().Name; IsSystem(name) || IsDataset(name) {
		return refuse(ErrSet, "ledger: %s; allowed: a ledger that is neither a dataset's record nor the daemon's own",
			name)
	}
	return nil
}

// Alike refuses two ledgers that cannot be taken together: a charge, or a number, about both has one adjacency
// and one privacy unit.
func Alike(a, b *Spec) error {
	const differ = "%s: %s in ledger %s, but %s in ledger %s; allowed: ledgers with the same %s"
	if a.Adjacency != b.Adjacency {
		return refuse(ErrSet, differ, "adjacency", a.Adjacency, a.Name, b.Adjacency, b.Name, "adjacency")
	}
	if a.PrivacyUnit != b.PrivacyUnit {
		return refuse(ErrSet, differ, "privacy_unit", strconv.Quote(a.PrivacyUnit), a.Name,
			strconv.Quote(b.PrivacyUnit), b.Name, "unit of privacy")
	}
	return nil
}

// Lane returns how far a lane has come with the batch; committed is how far it was before.
func (b *Batch) Lane(w Writer, committed Lane) Lane {
	if newer := b.last[w]; newer.Sequence >= committed.Sequence {
		return newer
	}
	return committed
}

// Next is the position of the batch's next entry.
func (b *Batch) Next() uint64 { return b.position() }

// Fits returns how many of a mechanism, alone, budgets or the plan still allow on top of the batch; false
// if nothing bounds it.
func (b *Batch) Fits(m mechanism.Mechanism) (uint64, bool) {
	if b.draft == nil {
		return 0, false
	}
	return b.draft.Fits(m), true
}

// IsSystem reports whether a ledger is the daemon's own: the one that keeps access policies, or a
// journal. No name that a user may give has a colon.
func IsSystem(name string) bool { return strings.HasPrefix(name, systemPrefix) }
