package persist

// Rows of the meta bucket that say how the store was left. Files of earlier versions
// have none, and programs of earlier versions do not look at them.
var (
	// stoppedKey → the transaction (8 bytes) that closed the store in order. The one after
	// it changes nothing; any later one makes the row say nothing about the present.
	stoppedKey = []byte("stopped")
)

// stopped reports whether the state is one that closing in order has left.
func (v *view) stopped() (bool, error) {
	last, err := v.lastStop()
	tx := uint64(v.tx.ID())
	return last > 0 && (tx == last || tx == last+1), err
}

// settled reports whether both root pages name that state.
func (v *view) settled() (bool, error) {
	last, err := v.lastStop()
	return last > 0 && uint64(v.tx.ID()) == last+1, err
}

// lastStop returns the newest transaction that closed the store; 0 if none did.
func (v *view) lastStop() (uint64, error) {
	value, err := v.get(metaBucket, stoppedKey)
	if err != nil || value == nil {
		return 0, err
	}
	last, err := parseUint64(value)
	if err != nil {
		return 0, damaged(metaBucket, stoppedKey, "%v", err)
	}
	return last, nil
}

// stop says that this transaction closes the store.
func (w *writing) stop() { w.stageUint64(metaBucket, stoppedKey, uint64(w.tx.ID())) }

// checkMarks verifies every row of the meta bucket: a damaged key of one would hide it.
func (v *view) checkMarks() error {
	bb, err := v.bucket(metaBucket)
	if err != nil {
		return err
	}
	return bb.ForEach(func(key, stored []byte) error {
		_, err := unseal(metaBucket, key, stored)
		return err
	})
}
