// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

// online verifies a ledger as far as it was when it was asked about.
func (v *verification) online(ctx context.Context, daemon *client.Client,
	progress *cli.Progress) (*audit.Replay, error) {
	answer, err := daemon.GetLedger(ctx, v.name)
	if err != nil {
		return nil, err
	}
	l := answer.GetLedger()
	judge, err := v.judge(ctx, daemon, l, progress)
	if err != nil {
		return nil, err
	}
	var r *audit.Replay
	if err := v.served(ctx, daemon, l, progress, func(genesis []byte) (*audit.Replay, error) {
		if r, err = audit.Begin(genesis, audit.ByLedger(v.kept)); err == nil && judge != nil {
			err = judge.Created(0, r.Genesis())
		}
		return r, err
	}, func(record ledger.Record) error {
		if judge == nil {
			return nil
		}
		return judge.Wrote(0, record.Entry)
	}); err != nil {
		return r, err
	}
	if r.Name() != v.name {
		return r, &audit.Finding{Ledger: v.name, What: "genesis", Expected: "that of the ledger",
			Found: "that of ledger " + r.Name()}
	}
	if err := r.ServedLedger(l); err != nil {
		return r, err
	}
	if err := r.End(); err != nil {
		return r, err
	}
	second := r.Again()
	if second == nil {
		return r, nil
	}
	if err := v.served(ctx, daemon, l, progress,
		func([]byte) (*audit.Replay, error) { return second, nil },
		func(ledger.Record) error { return nil }); err != nil {
		return r, err
	}
	return r, second.End()
}

// served goes through a ledger's entries, up to its head.
func (v *verification) served(ctx context.Context, daemon *client.Client, l *accountantv1.Ledger,
	progress *cli.Progress, begin func(genesis []byte) (*audit.Replay, error),
	each func(ledger.Record) error) error {
	var (
		r         *audit.Replay
		begun     error
		name, end = l.GetName(), l.GetPosition()
	)
	options := client.EntriesOptions{PageSize: pages.MaxSize, Raw: true, End: end,
		Genesis: func(raw []byte) { r, begun = begin(raw) }}
	for e, err := range daemon.Entries(ctx, name, options) {
		if err == nil {
			err = begun
		}
		if err != nil {
			return err
		}
		if r == nil || r.Head().Position == end {
			break
		}
		if len(e.GetRaw()) == 0 {
			return &audit.Finding{Ledger: name, Position: e.GetPosition(), What: "raw",
				Expected: "the stored bytes", Found: "none"}
		}
		record, err := r.NextRaw(e.GetRaw())
		if err == nil {
			err = r.Served(record, e)
		}
		if err == nil {
			err = each(record)
		}
		if err != nil {
			return err
		}
		progress.Set(r.Head().Position, end)
	}
	switch {
	case begun != nil:
		return begun
	case r == nil:
		return &audit.Finding{Ledger: name, What: "genesis", Expected: "the stored bytes", Found: "none"}
	case r.Head().Position != end:
		return &audit.Finding{Ledger: name, Position: r.Head().Position + 1, What: "position",
			Expected: fmt.Sprintf("entries up to %d, the head's", end), Found: "no more entries"}
	}
	return nil
}

// exported verifies a file of entries.
func (v *verification) exported(ctx context.Context, progress *cli.Progress) (*audit.Replay, error) {
	in := v.In
	if v.entries != "-" {
		f, err := os.Open(v.entries)
		if err != nil {
			return nil, cli.BadFile(v.entries, err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	r, err := audit.Export(in, audit.ByLedger(v.kept), func(done uint64) error {
		progress.Set(done, 0)
		return ctx.Err()
	})
	var line *audit.LineError
	if errors.As(err, &line) { // as wrong as a finding: not a mistake of whoever asks
		err = fmt.Errorf("%s: %v", cli.FileName(v.entries), err)
	}
	return r, err
}
