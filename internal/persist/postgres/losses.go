// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// losses are ledgers of which the database lacks an entry that was acknowledged, for example because a standby has
// taken over that was behind. They are refused until the database itself says so, by an entry ledger.Restored in each
// of them, which whoever reads it later believes: other daemons, and those that start later.
type losses struct {
	surveying sync.Mutex
	server    string // the start of a server on which all known heads were looked for

	mu    sync.Mutex
	open  map[string]loss // by ledger; those that the database does not say yet
	noted bool            // nobody is writing them
}

// loss is the newest entry of a ledger that is known to be lost.
type loss struct {
	number uint64
	seen
}

// survey looks for all known heads on a connection's server, once for each start of a server. Nothing else is asked of
// the server before. Whatever a failover took back, this daemon then knows before it answers from there.
func (s *Store) survey(ctx context.Context, c *pgx.Conn) error {
	l := &s.losses
	l.surveying.Lock()
	defer l.surveying.Unlock()
	server, _ := c.PgConn().CustomData()[started].(string)
	if server == l.server || s.Moved() != nil {
		return nil
	}
	err := s.seek(ctx, c, s.known.all())
	if err == nil {
		l.server = server
	}
	return err
}

// remember notes heads that were read and that are durable. Before that it seeks those known heads of which this is an
// earlier one, or another one in their place.
func (s *Store) remember(ctx context.Context, c *pgx.Conn, read heads) error {
	err := s.seek(ctx, c, s.known.ahead(read))
	if err == nil {
		s.known.add(read)
	}
	return err
}

// seek finds out which of the heads that were known before are not in the database any more. A ledger that is damaged
// is left to those who read it.
func (s *Store) seek(ctx context.Context, c *pgx.Conn, all heads) error {
	var numbers, positions []int64
	missing := heads{}
	for number, h := range all {
		if h.at.Position > 0 { // a ledger without entries has charged nothing
			missing[number] = h
			numbers = append(numbers, int64(number))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var later []int64
	const find = "SELECT l.number, l.name, h.value FROM ledgers l JOIN heads h ON h.number = l.number " +
		"WHERE l.number = ANY($1)"
	_, err := roundTrip(ctx, c, []query{{find, []any{numbers}, func(r pgx.Rows) error {
		var n int64
		var name, value []byte
		if err := r.Scan(&n, &name, &value); err != nil {
			return err
		}
		number := uint64(n)
		want := missing[number]
		h, err := rows.UnsealHead(number, value)
		switch {
		case err != nil, string(name) == want.name && h.At == want.at:
			delete(missing, number)
		case string(name) == want.name && h.At.Position > want.at.Position:
			later, positions = append(later, n), append(positions, int64(want.at.Position))
		}
		return nil
	}}})
	if err != nil {
		return err
	}
	const entry = `SELECT w.number, p.last, p.value FROM unnest($1::bigint[], $2::bigint[]) AS w(number, position)
		JOIN LATERAL (SELECT last, value FROM log WHERE log.number = w.number AND log.last >= w.position
			ORDER BY last LIMIT 1) p ON true`
	_, err = roundTrip(ctx, c, []query{{entry, []any{later, positions}, func(r pgx.Rows) error {
		var n, last int64
		var value []byte
		if err := r.Scan(&n, &last, &value); err != nil {
			return err
		}
		want := missing[uint64(n)].at
		if e, err := entryAt(uint64(n), want.Position, uint64(last), value); err == nil && e.Hash != want.Hash {
			return nil
		}
		delete(missing, uint64(n))
		return nil
	}}})
	if err == nil && len(missing) > 0 {
		s.lose(missing)
	}
	return err
}

// lose refuses ledgers until the database says that entries of them are lost, and has that written.
func (s *Store) lose(missing heads) {
	l := &s.losses
	l.mu.Lock()
	defer l.mu.Unlock()
	for number, h := range missing {
		if _, known := l.open[h.name]; known {
			continue
		}
		if l.open == nil {
			l.open = map[string]loss{}
		}
		l.open[h.name] = loss{number, h}
		s.known.forget(h.name) // its number may be of a ledger that is gone
		s.tellLoss(h, nil)
	}
	if len(l.open) > 0 && !l.noted && s.closing.Err() == nil {
		l.noted = true
		s.ended.Go(s.noteLosses)
	}
}

func (s *Store) tellLoss(h seen, err error) {
	if s.config.Observer.Lost != nil {
		s.config.Observer.Lost(h.name, h.at, err)
	}
}

// noteLosses writes all losses into the database. What cannot be written is tried again, and told once.
func (s *Store) noteLosses() {
	l := &s.losses
	told := map[string]bool{}
	for s.closing.Err() == nil {
		for _, each := range l.all() {
			err := s.noteLoss(each)
			switch {
			case err == nil:
				s.known.lose(each.number)
				l.mu.Lock()
				delete(l.open, each.name)
				l.mu.Unlock()
			case !told[each.name] && !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrConflict):
				told[each.name] = true
				s.tellLoss(each.seen, err)
			}
		}
		l.mu.Lock()
		if len(l.open) == 0 {
			l.noted = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		wait := retryEvery
		if len(told) > 0 {
			wait = time.Second
		}
		pause(s.closing, wait)
	}
}

func (l *losses) all() (list []loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.open {
		list = append(list, each)
	}
	return list
}

// refused returns why a ledger is not to be used yet, or nil.
func (l *losses) refused(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost, ok := l.open[name]; ok {
		return fmt.Errorf("%w: ledger %s: the database has lost entry %d, which was acknowledged, and the daemon has "+
			"not written that into the ledger yet; allowed: the same request again", ledger.ErrUnavailable, name,
			lost.at.Position)
	}
	return nil
}

// noteLoss writes into a ledger that entries of it are lost, unless somebody has. Of a ledger that is gone as a whole
// only the name is known: another one is made there, so that nobody begins it anew with nothing charged. Of a dataset's
// record that is gone as a whole there is the note, and whoever registers the dataset again writes the entry.
func (s *Store) noteLoss(lost loss) error {
	if !ledger.IsSystem(lost.name) {
		if err := s.Note(inspect.LostNote+lost.name, inspect.NoteOf(lost.at)); err != nil {
			return err
		}
	}
	var genesis *ledger.Genesis
	snapshot, err := s.Load(lost.name)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && (ledger.IsSystem(lost.name) || ledger.IsDataset(lost.name)):
		return nil // daemons make the first again
	case errors.Is(err, ledger.ErrNotFound):
		genesis = &ledger.Genesis{StoreID: s.id, Principal: ledger.Daemon,
			Time: time.Unix(0, time.Now().UnixNano()).UTC(),
			Spec: ledger.Spec{Name: lost.name, Adjacency: mechanism.AddOrRemoveOne}}
		snapshot.Genesis = *genesis
	case err != nil:
		return err
	}
	newest, err := s.left(lost, snapshot.Summary)
	if err != nil || lost.noted(snapshot.Amended, newest) {
		return err
	}
	state := ledger.NewState(snapshot)
	v := ledger.LostEntries(state, lost.at, newest)
	r := ledger.Request{Sequence: 1, Digest: record.Digest(v), Action: v,
		Writer: ledger.Writer{Principal: ledger.Daemon, Name: fmt.Sprintf("request/lost-%x", lost.at.Hash)}}
	var lane ledger.Lane
	if genesis == nil {
		if lane.Sequence, lane.Position, err = s.Writer(lost.name, r.Writer); err != nil {
			return err
		}
	}
	b := ledger.NewBatch(state)
	if d := b.Decide(r, lane, time.Now()); d.Outcome != ledger.Accepted {
		return d.Err // nil for a duplicate
	}
	p := b.Proposal()
	p.Genesis = genesis
	_, err = s.Append([]ledger.Proposal{p})
	return err
}

// left returns when the newest entry was taken that the database still had of a ledger, or when the ledger was made if
// it had none. What was taken after the lost head was seen has been written since the loss, by a daemon that did not
// know of it. The zero of Unix time says that nothing was left.
func (s *Store) left(lost loss, sum ledger.Summary) (newest time.Time, err error) {
	ahead, err := s.Ahead()
	if err != nil {
		return newest, err
	}
	seen := time.Unix(0, lost.since).Add(ahead)
	newest = time.Unix(0, 0).UTC()
	if !sum.Genesis.Time.After(seen) {
		newest = sum.Genesis.Time
	}
	sort.Search(int(sum.Head.Position), func(i int) bool {
		var found []ledger.Record
		if err == nil {
			found, err = s.Records(lost.name, uint64(i)+1, 1)
		}
		if err != nil || len(found) == 0 || found[0].Entry.Time.After(seen) {
			return true
		}
		newest = found[0].Entry.Time // the search goes on among later entries
		return false
	})
	return newest, err
}

// noted reports whether an entry tells of this loss already: one that names this head or a later one, and that says of
// at least as much that it is lost. A head that was lost in an earlier failover may be of entries that are older than
// those which a later failover took. An entry that amends the ledger and comes after as many as the lost head had was
// written after the loss.
func (l loss) noted(amended []ledger.Entry, newest time.Time) bool {
	return slices.ContainsFunc(amended[min(l.amended, uint64(len(amended))):], func(e ledger.Entry) bool {
		v, ok := e.Action.(ledger.Restored)
		return ok && v.Lost.Position >= l.at.Position && !v.Newest.After(newest)
	})
}

// notes reports whether a proposal is one of noteLoss.
func notes(p *ledger.Proposal) bool {
	if len(p.Entries) == 0 {
		return false
	}
	_, ok := p.Entries[0].Action.(ledger.Restored)
	return ok
}

// LostWhole returns the newest entry of a ledger that the database has lost, as a daemon has noted it, zero if none
// has.
func (s *Store) LostWhole(name string) (lost ledger.Head, err error) {
	note, err := s.Noted(inspect.LostNote + name)
	if err == nil && note != nil {
		lost, err = inspect.ParseNote(note)
	}
	return lost, err
}

// Lost returns the ledgers of which the database has lost entries and that nobody has reconciled since.
func (s *Store) Lost() (lost []inspect.Loss, err error) {
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) (err error) {
		lost, err = inspect.Lost(ctx, c)
		return err
	})
	return lost, err
}
