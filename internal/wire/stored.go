package wire

import (
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Stored records are made of the API's messages. The functions of this file are the parts
// of their conversion that package record needs.

// ReadSpec converts a ledger's spec as ToSpec does. Fields in errors start at the spec.
func ReadSpec(s *pb.LedgerSpec) (ledger.Spec, error) { return toSpec(s) }

// CheckSpec checks a spec of the domain, as ReadSpec does.
func CheckSpec(s ledger.Spec) error {
	if err := checkSpec(s); err != nil {
		return err
	}
	if !s.Adjacency.Valid() {
		return invalid("adjacency", s.Adjacency.String(), "ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT")
	}
	return checkLabels("labels", s.Labels)
}

// CheckMechanism accepts a descriptor that is valid under at least one adjacency.
func CheckMechanism(m mechanism.Mechanism) error { return checkAnywhere(m) }

// AppendEvents appends the canonical encoding of events, of which digests are made. It does
// not depend on protobuf, and is different for different events.
func AppendEvents(b []byte, events []mechanism.Event) []byte { return appendEvents(b, events) }

// AppendMechanism appends the fields of FromMechanism(m) as package proto encodes them.
func AppendMechanism(b []byte, m mechanism.Mechanism) []byte { return appendRecorded(b, m) }

// ToGuard converts a guard; false if it is unknown.
func ToGuard(g pb.Budget_Guard) (accountant.Guard, bool) {
	guard, ok := guards[g]
	return guard, ok
}

// FromGuard is the inverse of ToGuard.
func FromGuard(g accountant.Guard) pb.Budget_Guard { return fromGuard(g) }

// CheckPrincipal accepts 1 to 256 bytes of text.
func CheckPrincipal(principal string) error { return checkPrincipal(principal) }

// IsUUID reports whether s is a UUID as canonical lower-case text, not the nil UUID.
func IsUUID(s string) bool { return isUUID(s) }

// Known refuses unknown fields of m itself, not of messages within it.
func Known(field string, m proto.Message) error { return known(field, m) }

// Unknown reports whether the error is that a message has a field which this version does
// not know.
func (e *InvalidError) Unknown() bool { return strings.HasPrefix(e.Value, unknownFieldText) }

// Under places an error below a field: its path gets the prefix "field.".
func Under(field string, err error) error { return under(field, err) }

// InEvent gives an error its path below the i-th of a list of events or parts.
func InEvent(field string, i int, err error) error { return inEvent(field, i, err) }

// Quote quotes a value, long ones shortened.
func Quote(s string) string { return show(s) }
