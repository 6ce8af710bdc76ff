package rows

import "github.com/dpaccountant/accountant/internal/ledger"

// LaneLog reads the entries of one lane from a ledger's log.
type LaneLog struct {
	Writer ledger.Writer
	// Every is how many of the lane's entries lie between two that are indexed; Indexed returns the log key of the
	// lane's entry number block × Every.
	Every   uint64
	Indexed func(block uint64) (key uint64, err error)
	// Entry returns the entry with a log key, and the log key of the one before it in its lane.
	Entry func(key uint64) (r ledger.Record, before uint64, err error)
}

// Record returns the entry with a sequence number, which the lane must have reached. It starts at the lane's end, or at
// the next indexed entry, and walks back. Each entry on the way must be the one that the lane has there.
func (l Lane) Record(sequence uint64, log LaneLog) (r ledger.Record, err error) {
	at, key := l.Sequence, l.Last
	if sequence == 1 {
		at, key = 1, l.ID
	} else if block := (sequence-1)/log.Every + 1; block*log.Every <= l.Sequence {
		at = block * log.Every
		if key, err = log.Indexed(block); err != nil {
			return r, err
		}
	}
	for ; ; at-- {
		var before uint64
		if r, before, err = log.Entry(key); err != nil {
			return ledger.Record{}, err
		}
		if r.Entry.Writer != log.Writer || r.Entry.Sequence != at {
			return ledger.Record{}, Damaged(LogBucket, NumberKey(key), "sequence %d of writer %s; want %d of %s",
				r.Entry.Sequence, r.Entry.Writer.Name, at, log.Writer.Name)
		}
		if at == sequence {
			return r, nil
		}
		key = before
	}
}
