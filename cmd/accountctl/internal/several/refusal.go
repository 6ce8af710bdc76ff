// SPDX-License-Identifier: Apache-2.0

package several

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// Check asks what ReportOnce would do now in several ledgers, and writes nothing. A refusal is an error.
func Check(ctx context.Context, of *client.Set, key string, by Contribution, events []*accountantv1.Event,
	labels map[string]string) (*accountantv1.WriteResponse, error) {
	a, err := of.CheckOnce(ctx, key, by.Value(), events, labels)
	if err == nil && a.GetRefusal() != nil {
		return nil, wouldRefuse(a.GetRefusal())
	}
	return a, err
}

// Refused says with an error which ledgers have refused a write, what each lacks, and what would fit in all of
// them: as JSON on the standard output if that was asked for, and otherwise in the message. The message says of one
// ledger what it lacks in any case.
func Refused(p *cli.Program, asJSON bool, err error) error {
	var e *client.Error
	switch {
	case !errors.As(err, &e) || e.Refusal == nil && (e.Budget == nil || !asJSON):
		return err
	case e.Refusal == nil:
		return errors.Join(p.WriteJSON(e.Budget), err)
	}
	if asJSON {
		if failed := p.WriteJSON(e.Refusal); failed != nil {
			return failed
		}
		return err
	}
	whole := *e
	whole.Message, _, _ = strings.Cut(e.Message, "; ledger ") // the rest names only some of the ledgers
	whole.Message = strings.Join(append([]string{whole.Message}, lines(e.Refusal)...), "; ")
	return &whole
}

// wouldRefuse is the error of a charge that was checked and would be refused, as if it had been made.
func wouldRefuse(r *accountantv1.SetRefusal) error {
	code := codes.ResourceExhausted
	for _, m := range r.GetMembers() {
		if codes.Code(m.GetCode()) != code {
			code = codes.FailedPrecondition
		}
	}
	return &client.Error{Op: "Set.CheckOnce", Code: code, Refusal: r, Message: fmt.Sprintf("%d of %d ledgers would "+
		"refuse it", len(r.GetMembers())+int(r.GetMore()), r.GetLedgers())}
}

// lines says what a refusal says, one text for each ledger.
func lines(r *accountantv1.SetRefusal) (list []string) {
	for _, m := range r.GetMembers() {
		list = append(list, m.GetLedger()+": "+lacks(m))
	}
	if n := r.GetMore(); n > 0 {
		list = append(list, fmt.Sprintf("and %d more ledgers (report --check --output json lists all)", n))
	}
	var fits []string
	for _, f := range r.GetFits() {
		if f.GetCount() == 0 {
			list = append(list, fmt.Sprintf("not one %s would fit in each of the %d ledgers",
				spelling.Mechanism(f.GetMechanism()), r.GetLedgers()))
			continue
		}
		fits = append(fits, fmt.Sprintf("%d × %s", f.GetCount(), spelling.Mechanism(f.GetMechanism())))
	}
	if len(fits) > 0 {
		list = append(list, fmt.Sprintf("in each of the %d ledgers would fit: %s", r.GetLedgers(),
			strings.Join(fits, ", or ")))
	}
	return list
}

// lacks says why one ledger has refused.
func lacks(m *accountantv1.SetRefusal_Member) string {
	var list []string
	for _, s := range m.GetBudgetExceeded().GetShortfalls() {
		switch {
		case s.GetReason() != "":
			list = append(list, s.GetReason())
		default:
			list = append(list, fmt.Sprintf("needs %s of %s, %s is left: short by %s",
				num.FormatUp(s.GetNeeded(), spelling.Digits), s.GetUnit(),
				num.FormatReadDown(s.GetLeft(), spelling.Digits), num.FormatUp(s.GetShort(), spelling.Digits)))
		}
	}
	if len(list) == 0 {
		return m.GetReason()
	}
	return strings.Join(list, "; ")
}
