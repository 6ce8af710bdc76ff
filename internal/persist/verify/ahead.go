// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// opened is a pack with its entries, or the end of a ledger.
type opened struct {
	packs.Pack
	entries []decoded

	end bool
	err error // of reading the ledger: after it nothing follows
}

// decoded is an entry as its stored bytes say it.
type decoded struct {
	ledger.Entry
	ofWriter uint64
	err      error
}

// packsAhead is how many packs are read before they are needed.
const packsAhead = 16

// readAhead reads a ledger's packs from a position on, and decodes their entries. It does so beside the decisions about
// those before, and with a transaction of its own, because one is not for concurrent use: nobody writes to the file. It
// stops at the end of the context; wait returns once it has.
func (v *verifier) readAhead(ctx context.Context, number, from uint64) (list <-chan opened, wait func()) {
	out := make(chan opened, packsAhead)
	send := func(o opened) error {
		select {
		case out <- o:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	read := func(tx *bolt.Tx) error {
		view := v.another(ctx, tx)
		var by record.Reader
		return view.EachPackFrom(number, from, v.tail[number], func(p packs.Pack, _ uint64) error {
			o := opened{Pack: p, entries: make([]decoded, len(p.Raws))}
			for i, raw := range p.Raws {
				e := &o.entries[i]
				e.Entry, e.ofWriter, e.err = by.Entry(raw)
			}
			return send(o)
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(out)
		err := rows.Guard(func() error { return v.Tx.DB().View(read) })
		_ = send(opened{end: true, err: err}) // after the context's end nobody receives it
	}()
	return out, func() { <-ended }
}
