package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/packs"
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

// doubt seeks those heads of which a reading has found an earlier one, or another one in their place.
func (s *Store) doubt(ctx context.Context, c *pgx.Conn, read heads) error {
	return s.seek(ctx, c, s.known.ahead(read))
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
		h, err := parseHead(number, value)
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
		JOIN LATERAL (SELECT last, value FROM packs WHERE packs.number = w.number AND packs.last >= w.position
			ORDER BY last LIMIT 1) p ON true`
	_, err = roundTrip(ctx, c, []query{{entry, []any{later, positions}, func(r pgx.Rows) error {
		var n, last int64
		var value []byte
		if err := r.Scan(&n, &last, &value); err != nil {
			return err
		}
		want := missing[uint64(n)].at
		p, err := packs.Parse(uint64(n), uint64(last), value)
		if err == nil {
			var e packs.Linked
			if e, err = p.At(want.Position); err == nil && e.Hash != want.Hash {
				return nil
			}
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
// only the name is known: another one is made there, so that nobody begins it anew with nothing charged.
func (s *Store) noteLoss(lost loss) error {
	if !ledger.IsSystem(lost.name) {
		text := fmt.Appendf(nil, "%d %x", lost.at.Position, lost.at.Hash)
		if err := s.Note(inspect.LostNote+lost.name, text); err != nil {
			return err
		}
	}
	now := time.Unix(0, time.Now().UnixNano()).UTC()
	newest := now
	var genesis *ledger.Genesis
	snapshot, tail, err := s.Load(lost.name)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && ledger.IsSystem(lost.name): // daemons make it again
		return nil
	case errors.Is(err, ledger.ErrNotFound) && !ledger.IsDataset(lost.name):
		genesis = &ledger.Genesis{StoreID: s.id, Principal: ledger.Daemon, Time: now,
			Spec: ledger.Spec{Name: lost.name, Adjacency: mechanism.AddOrRemoveOne}}
		snapshot.Genesis = *genesis
	case err != nil:
		return err
	case lost.noted(snapshot.Amended):
		return nil
	default:
		newest = snapshot.Genesis.Time
		records, err := s.Records(lost.name, max(snapshot.Head.Position, 1), 1)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			newest = records[0].Entry.Time
		}
	}
	state := ledger.NewState(snapshot, tail)
	store := state.StoreOf(snapshot.Head.Position)
	v := ledger.Restored{From: store, StoreID: store, Newest: newest, Lost: lost.at}
	r := ledger.Request{Sequence: 1, Digest: record.Digest(v), Action: v,
		Writer: ledger.Writer{Principal: ledger.Daemon, Name: fmt.Sprintf("request/lost-%x", lost.at.Hash)}}
	var lane ledger.Lane
	if genesis == nil {
		if lane.Sequence, lane.Position, err = s.Writer(lost.name, r.Writer); err != nil {
			return err
		}
	}
	b := ledger.NewBatch(state)
	if d := b.Decide(r, lane, now); d.Outcome != ledger.Accepted {
		return d.Err // nil for a duplicate
	}
	p := b.Proposal()
	p.Genesis = genesis
	_, err = s.Append([]ledger.Proposal{p})
	return err
}

// noted reports whether an entry says already that this one, or one after it, is lost. An entry that amends the ledger
// and comes after as many as the lost head had was written after the loss. What was lost later is told by what follows
// the reconciling of that.
func (l loss) noted(amended []ledger.Entry) bool {
	return ledger.Lost(amended[min(l.amended, uint64(len(amended))):]).Position >= l.at.Position
}

// notes reports whether a proposal is one of noteLoss.
func notes(p *ledger.Proposal) bool {
	if len(p.Entries) == 0 {
		return false
	}
	_, ok := p.Entries[0].Action.(ledger.Restored)
	return ok
}

// Lost returns the ledgers of which the database has lost entries and that nobody has reconciled since.
func (s *Store) Lost() (lost []inspect.Loss, err error) {
	err = s.attempt(func(ctx context.Context, c *pgx.Conn) (err error) {
		lost, err = inspect.Lost(ctx, c)
		return err
	})
	return lost, err
}
