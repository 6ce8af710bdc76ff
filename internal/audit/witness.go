// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// Witness is what somebody kept of a ledger, outside of it: a receipt or a signed
// head. It says which hash the entry at a position had.
type Witness struct {
	Source   string // such as "receipt r.json"
	StoreID  string
	Ledger   string
	Position uint64 // 0: the genesis
	Hash     ledger.Hash
	receipt  *pb.Receipt // nil of a signed head
}

// ReadReceipt reads the JSON of a receipt, or of an answer that has one, as
// accountctl prints them.
func ReadReceipt(source string, data []byte) (Witness, error) {
	r := &pb.Receipt{}
	if err := readWithin(data, r, "receipt"); err != nil {
		return Witness{}, err
	}
	w := Witness{Source: source, StoreID: r.GetStoreId(), Ledger: r.GetLedger(), Position: r.GetPosition(), receipt: r}
	switch {
	case len(r.GetHeadHash()) != len(w.Hash):
		return w, fmt.Errorf("head_hash: %d bytes; allowed: %d", len(r.GetHeadHash()), len(w.Hash))
	case w.Position == 0:
		return w, fmt.Errorf("position: 0; allowed: a whole number ≥ 1")
	case w.Ledger == "":
		return w, fmt.Errorf("ledger: missing; allowed: a ledger's name")
	}
	copy(w.Hash[:], r.GetHeadHash())
	return w, nil
}

// ReadSignedHead reads the JSON of a signed head, or of an answer that has one, and
// checks its signature: by trusted, or by the key in it if trusted is nil.
func ReadSignedHead(source string, data []byte, trusted ed25519.PublicKey) (Witness, error) {
	h := &pb.SignedHead{}
	if err := readWithin(data, h, "signedHead", "signed_head"); err != nil {
		return Witness{}, err
	}
	if err := wire.CheckSignedHead(h, trusted); err != nil {
		return Witness{}, err
	}
	w := Witness{Source: source, StoreID: h.GetStoreId(), Ledger: h.GetLedger(), Position: h.GetPosition()}
	copy(w.Hash[:], h.GetHeadHash())
	return w, nil
}

// readWithin reads m from a JSON object, or from its member of one of these names.
func readWithin(data []byte, m proto.Message, names ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err == nil {
		for _, name := range names {
			if inner, ok := members[name]; ok {
				data = inner
			}
		}
	}
	return wirejson.Unmarshal(data, m)
}

// ByLedger returns what was kept of each ledger, by position.
func ByLedger(kept []Witness) map[string][]Witness {
	of := map[string][]Witness{}
	for _, w := range slices.SortedStableFunc(slices.Values(kept), func(a, b Witness) int {
		return cmp.Compare(a.Position, b.Position)
	}) {
		of[w.Ledger] = append(of[w.Ledger], w)
	}
	return of
}

// editedOrRolledBack is what a witness that does not agree shows.
const editedOrRolledBack = "the ledger was edited or rolled back"

// compareKept compares what was kept of the newest entry, e.
func (r *Replay) compareKept(e ledger.Entry) error {
	for ; r.agreed < len(r.kept) && r.kept[r.agreed].Position == r.head.Position; r.agreed++ {
		w := r.kept[r.agreed]
		wrong := func(expected, found string) error {
			return &Finding{Ledger: r.Name(), Position: w.Position, What: w.Source, Expected: expected,
				Found: found + w.elsewhere(r.genesis.StoreID)}
		}
		if w.Hash != r.head.Hash {
			return wrong(fmt.Sprintf("hash %x, as was kept", w.Hash),
				fmt.Sprintf("hash %x: %s", r.head.Hash, editedOrRolledBack))
		}
		if w.receipt != nil && (w.receipt.GetWriter() != e.Writer.Name || w.receipt.GetSequence() != e.Sequence) {
			return wrong(fmt.Sprintf("writer %s, sequence %d, as was kept", w.receipt.GetWriter(),
				w.receipt.GetSequence()),
				fmt.Sprintf("writer %s, sequence %d: the receipt itself was edited, its hash agrees",
					e.Writer.Name, e.Sequence))
		}
		if t := w.receipt.GetTime(); t != nil && !t.AsTime().Equal(e.Time) {
			return wrong(fmt.Sprintf("time %s, as was kept", t.AsTime().Format(time.RFC3339Nano)),
				fmt.Sprintf("time %s: the receipt itself was edited, its hash agrees",
					e.Time.UTC().Format(time.RFC3339Nano)))
		}
	}
	return nil
}

// End checks, after the newest entry, that the ledger has all that was kept of it,
// and the second time that it was the same log.
func (r *Replay) End() error {
	if r.first != nil && r.head != r.first.head {
		return &Finding{Ledger: r.Name(), Position: r.head.Position, What: "hash",
			Expected: fmt.Sprintf("%x at %d, as the first time", r.first.head.Hash, r.first.head.Position),
			Found:    fmt.Sprintf("%x", r.head.Hash)}
	}
	if r.agreed == len(r.kept) {
		return nil
	}
	w := r.kept[r.agreed]
	return &Finding{Ledger: r.Name(), Position: w.Position, What: w.Source,
		Expected: fmt.Sprintf("an entry with hash %x, as was kept", w.Hash),
		Found: fmt.Sprintf("no entry after %d: %s", r.head.Position, editedOrRolledBack) +
			w.elsewhere(r.genesis.StoreID)}
}

// Missing is the finding for the first of kept whose ledger is not there; nil if
// there is none.
func Missing(kept []Witness, there func(ledger string) bool) error {
	for _, w := range kept {
		if !there(w.Ledger) {
			return &Finding{Ledger: w.Ledger, Position: w.Position, What: w.Source,
				Expected: fmt.Sprintf("an entry with hash %x, as was kept", w.Hash),
				Found:    "no such ledger: the store was rolled back, or is another one"}
		}
	}
	return nil
}

// elsewhere hints at another store as the cause.
func (w Witness) elsewhere(store string) string {
	if w.StoreID == store {
		return ""
	}
	return fmt.Sprintf(" (or is another's: it was created in store %s, this was kept of store %s)", store, w.StoreID)
}
