// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ErrDeaf: another daemon may have put an access policy in force that this one does not know, or the first one.
var ErrDeaf = errors.New("the database could not be read for a while, and who may do what may have changed there")

// maxAge is how old what a daemon knows of the shared policy may be. It is read after each Config.Interval.
const maxAge = 10 * time.Second

// deaf returns an error if what the daemon knows of the shared policy is too old, for example because the daemon
// was stopped for a minute and goes on now.
func (g *Gate) deaf() error {
	if g.config.Newest == nil {
		return nil
	}
	if heard := g.heard.Load(); heard == nil || time.Since(*heard) > maxAge {
		if why := g.unheard.Load(); why != nil {
			return fmt.Errorf("%w: %w", ErrDeaf, *why)
		}
		return ErrDeaf
	}
	return nil
}

// ownText returns the text of the policy in the file, nothing if there is none.
func (g *Gate) ownText() []byte {
	if g.own == nil {
		return nil
	}
	return g.own.Text
}

// follow puts the policy in force that was recorded last, by whichever daemon of the store. If it is not the
// file's, the log and Problem say so. Without other daemons it does nothing.
func (g *Gate) follow() error {
	if g.config.Newest == nil {
		return nil
	}
	asked := time.Now()
	text, position, err := g.config.Newest()
	if err != nil {
		g.unheard.Store(&err)
		return err
	}
	now := g.policy.Load()
	if now == nil && len(text) > 0 || now != nil && now.Digest != sha256.Sum256(text) {
		var newest *access.Policy
		if len(text) > 0 {
			if newest, err = access.Parse(text); err != nil {
				return fmt.Errorf("the newest policy in the ledger %s is of a later version: %w", ledger.AccessLedger,
					err)
			}
			newest = newest.At(position)
		}
		g.change(newest)
	} else if now != nil && now.Position != position { // such as after a failover
		g.policy.Store(now.At(position))
	}
	g.heard.Store(&asked)
	g.compare()
	return nil
}

// compare says whether the policy in the file is the one in force.
func (g *Gate) compare() {
	now := g.policy.Load()
	if g.own == nil || now != nil && now.Digest == g.own.Digest {
		g.other.Store(nil)
		return
	}
	text := fmt.Sprintf("%s is not in force: the daemons of this database follow the policy that was recorded last in "+
		"the ledger %s, SHA-256 %x; give this daemon the same file or, to put its own in force, change that file, for "+
		"example a comment with the date", g.config.Path, ledger.AccessLedger, sha256.Sum256(g.Text()))
	if was := g.other.Swap(&text); was == nil || *was != text {
		g.config.Logger.Warn("the daemons of this database have another access policy in force than this one's file",
			"problem", text)
	}
}
