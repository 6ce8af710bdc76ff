// SPDX-License-Identifier: Apache-2.0

// Package webhook tells people that something waits for them, that a budget is nearly used or has refused a charge, or
// that the daemon has found damage: it posts signed messages to addresses that the operator has set, as the Standard
// Webhooks specification 1.0 says.
//
// Nothing waits for it. What happens is noted in a bounded table, and messages wait in a bounded queue for each
// address. What finds no room is dropped, counted and logged.
package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// Config says whom to tell.
type Config struct {
	Addresses []*url.URL // as ParseAddress returns them
	Secrets   [][]byte   // as ParseSecrets returns them
}

// ParseAddress reads an address: https, or http on this machine. The error says what is allowed, and not the address,
// which may hold a password.
func ParseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && u.User == nil && u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && endpoint.IsLocal(u.Hostname())) {
		return u, nil
	}
	return nil, errors.New("https://HOST/PATH, or http with localhost or a loopback address, without a user or a #")
}

// ParseSecrets reads a file of secrets, one a line: "whsec_" and 24 to 64 bytes in base64. While a secret is replaced
// there are two, and each message is signed with both.
func ParseSecrets(file []byte) (list [][]byte, err error) {
	for line := range bytes.Lines(file) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
		if err != nil || len(secret) < 24 || len(secret) > 64 {
			return nil, fmt.Errorf("secret %d is none", len(list)+1)
		}
		list = append(list, secret)
	}
	if len(list) == 0 || len(list) > 4 {
		return nil, fmt.Errorf("%d secrets; allowed: one to four, one a line", len(list))
	}
	return list, nil
}

// sign is the value of the header webhook-signature.
func sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	var list []string
	for _, secret := range secrets {
		m := hmac.New(sha256.New, secret)
		fmt.Fprintf(m, "%s.%d.%s", id, at.Unix(), body)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	}
	return strings.Join(list, " ")
}

// The types of messages.
const (
	ProposalWaiting  = "proposal.waiting"
	BudgetNearlyUsed = "budget.nearly_used"
	BudgetRefused    = "budget.refused"
	NeedsReconciling = "ledger.needs_reconciling"
	StoreDamaged     = "store.damaged"
)

// Message is what is posted, as JSON. A reader with the viewer's role on its ledger may see all of it: it names nobody,
// and has no labels, reasons or mechanisms.
type Message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when the daemon noticed it
	Data      Data      `json:"data"`

	// The same facts have the same ID, from whichever daemon of a store and after a restart.
	ID string `json:"-"`
}

// Data is what a message is about.
type Data struct {
	Text     string   `json:"text"` // in a sentence
	Ledger   string   `json:"ledger,omitempty"`
	Dataset  string   `json:"dataset,omitempty"`
	Share    *float64 `json:"share,omitempty"`    // that is used, rounded up
	ShareOf  string   `json:"share_of,omitempty"` // the budget in words
	Position uint64   `json:"position,omitempty"` // of the entry
	Action   string   `json:"action,omitempty"`   // that is proposed, such as "raise"
	Page     string   `json:"page,omitempty"`     // of the dashboard
}

// id identifies facts of a store.
func id(facts ...string) string {
	h := sha256.New()
	for _, f := range facts {
		fmt.Fprintf(h, "%d %s ", len(f), f)
	}
	return "msg_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// New returns a message about facts, which have nothing that changes while they hold.
func New(kind string, at time.Time, data Data, store string, facts ...string) Message {
	return Message{Type: kind, Timestamp: at.UTC(), Data: data, ID: id(slices.Concat([]string{store, kind}, facts)...)}
}

// Day is a fact that is told once a day.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Number is a fact that is a number.
func Number(n uint64) string { return strconv.FormatUint(n, 10) }
