// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"fmt"
	"os"

	"github.com/dpaccountant/accountant/internal/persist/roots"
)

// keepAcknowledged opens the file beside the store, or makes it.
func (s *Store) keepAcknowledged() (err error) {
	if s.config.hooks.alone {
		return nil
	}
	if s.acknowledged, err = os.OpenFile(s.path+roots.Suffix, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return fmt.Errorf("%w: it must be readable and writable for the daemon's user, as %s is", err, FileName)
	}
	s.boot = roots.BootID()
	if err := s.noteAcknowledged(s.published.tx); err != nil {
		return err
	}
	return s.acknowledged.Truncate(int64(len(roots.Acknowledged{}.Line()))) // it may have been longer: zeros
}

// noteAcknowledged records that a transaction is about to be acknowledged.
func (s *Store) noteAcknowledged(tx int) error {
	if s.acknowledged == nil {
		return nil
	}
	_, err := s.acknowledged.WriteAt(roots.Acknowledged{Store: s.id, Transaction: uint64(tx), Boot: s.boot}.Line(), 0)
	return err
}

// syncAcknowledged makes that record durable.
func (s *Store) syncAcknowledged() error {
	if s.acknowledged == nil || s.config.hooks.noSync {
		return nil
	}
	return s.acknowledged.Sync()
}
