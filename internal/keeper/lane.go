package keeper

import (
	"context"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Lane is an open stream of one writer's requests. One goroutine may Send (or
// Reject) while another Receives; Close may be called from anywhere.
//
// After a request is answered with an error the lane drops requests, without an
// answer, until that sequence number (or a smaller one) comes again: go-back-N.
type Lane struct{}

// LaneResult answers one request of a Lane.
type LaneResult struct {
	Sequence uint64
	Result
	Err error // as of Keeper.Do, or as given to Reject
}

// Open opens a stream and returns the last sequence number that is committed in
// its lane. The lane's older stream is ended: it takes no more requests, those
// in its queue are decided, and then the new one begins. A unary call in flight
// is waited for likewise. The waiting ends with ctx, or with ErrReplaced when a
// still newer stream is opened. The caller must Close the lane.
func (k *Keeper) Open(ctx context.Context, name string, w ledger.Writer) (*Lane, uint64, error) {
	return nil, 0, errUnbuilt
}

// Send queues a request; r.Writer is ignored, it is the lane's. It waits while
// Config.Window requests are unanswered or their answers not received. The
// error says why nothing was queued: ctx.Err(), or that of an ended lane (see
// Receive).
func (l *Lane) Send(ctx context.Context, r ledger.Request) error { return errUnbuilt }

// Reject queues, in place of a request that is not valid, its refusal: err is
// answered in order, and later requests are dropped as after any refusal. It
// waits and fails as Send does.
func (l *Lane) Reject(ctx context.Context, sequence uint64, err error) error { return errUnbuilt }

// Receive waits for answers and returns all there are, in the order of the
// requests: at least one, or an error: ctx.Err(), or when the lane has ended
// and every answer was received: io.EOF after Close, ErrReplaced after a newer
// Open, ledger.ErrUnavailable after Keeper.Close.
//
// Answers of one commit come together. Nothing has to be received before a lane
// can end, and nothing leaks if the rest never is.
func (l *Lane) Receive(ctx context.Context) ([]LaneResult, error) { return nil, errUnbuilt }

// Close ends the lane: it takes no more requests. Those in the queue are decided
// and their answers can be received. It never waits, and may be called again.
func (l *Lane) Close() {}
