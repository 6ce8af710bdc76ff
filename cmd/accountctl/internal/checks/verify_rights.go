// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/rights"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// judge returns what judges who was allowed to write a ledger: nil if the caller may not read what that takes, which
// v.unjudged then says. It is asked for after the ledger's head, so that no policy of an entry is missing.
func (v *verification) judge(ctx context.Context, daemon *client.Client, l *accountantv1.Ledger,
	progress *cli.Progress) (*rights.Ledger, error) {
	specs, err := lineage(ctx, daemon, l.GetSpec())
	if err != nil {
		return nil, v.unreadable("the ledgers above", err)
	}
	h := rights.History{Spec: func(name string) (ledger.Spec, error) { return specs[name], nil }}
	answer, err := daemon.GetLedger(ctx, ledger.AccessLedger)
	switch {
	case status.Code(err) == codes.NotFound: // no policy was ever in force
		return h.Of(v.name), nil
	case err != nil:
		return nil, v.unreadable(ledger.AccessLedger, err)
	}
	var policies *audit.Replay
	err = v.served(ctx, daemon, answer.GetLedger(), progress, func(genesis []byte) (*audit.Replay, error) {
		policies, err = audit.Begin(genesis, nil)
		return policies, err
	}, func(r ledger.Record) error { return h.Add(0, r.Entry) })
	if err != nil {
		return nil, v.unreadable(ledger.AccessLedger, err)
	}
	return h.Of(v.name), policies.ServedLedger(answer.GetLedger())
}

// unreadable notes that rights are not judged if err says that the caller may not read what that takes.
func (v *verification) unreadable(what string, err error) error {
	if status.Code(err) != codes.PermissionDenied {
		return err
	}
	v.unjudged = fmt.Sprintf("you may not read %s (%s)", what, status.Convert(err).Message())
	return nil
}

// lineage returns the specs of a ledger and of those above it.
func lineage(ctx context.Context, daemon *client.Client,
	of *accountantv1.LedgerSpec) (map[string]ledger.Spec, error) {
	specs := map[string]ledger.Spec{}
	for {
		spec, err := wire.ReadSpec(of)
		if err != nil {
			return nil, err
		}
		specs[spec.Name] = spec
		if spec.Parent == "" {
			return specs, nil
		}
		above, err := daemon.GetLedger(ctx, spec.Parent)
		if err != nil {
			return nil, err
		}
		of = above.GetLedger().GetSpec()
	}
}
