// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Begin records the policy that is in force from the start, and that there is none. If that fails, such as
// on a full disk, Run tries it again, and calls that write are refused until it is done.
func (g *Gate) Begin() {
	position, err := g.config.Record(g.ownText())
	if err == nil && g.own != nil && g.config.Newest == nil {
		g.policy.Store(g.own.At(position))
	}
	if err == nil {
		err = g.follow()
	}
	if err == nil {
		g.first.Store(nil)
		return
	}
	text := unrecorded("", err)
	if g.first.Swap(&text) == nil {
		g.config.Logger.Error("nothing is written before the access policy is recorded: it is tried again",
			"error", text)
	}
}

// unrecorded says that a policy, the new one or that in force, could not be recorded.
func unrecorded(which string, err error) string {
	return fmt.Sprintf("the %saccess policy cannot be recorded in the ledger %s: %v", which, ledger.AccessLedger, err)
}

// Run reads the policy's file again and again, and when asked to, until ctx ends. It puts in force what other
// daemons record as soon as it hears of it.
func (g *Gate) Run(ctx context.Context, asked <-chan struct{}) {
	tick := time.NewTicker(g.config.Interval)
	defer tick.Stop()
	for complete, others := false, false; ; {
		if g.first.Load() != nil {
			g.Begin()
		} else if err := g.follow(); err != nil {
			g.config.Logger.Warn("which access policy other daemons have put in force is not known now", "error", err)
		}
		if g.config.Path != "" && !others { // two readings of a file have an Interval between them
			g.Reload(complete)
		}
		complete, others = false, false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-asked:
			complete = true
		case <-g.config.Changed:
			others = true
		}
	}
}

// Reload reads the policy's file and puts it in force if it has changed: at once if somebody says
// that it is complete, and otherwise if it was the same the last time. The beginning of a policy that
// is still being written can allow more than all of it. A file that is no policy leaves the one before
// in force, and the log says so once. Reload must not be called while it runs.
func (g *Gate) Reload(complete bool) {
	p, err := read(g.config.Path)
	if err != nil {
		text := err.Error()
		if g.Problem() != text {
			g.config.Logger.Error("the access policy is not read: the one before stays in force", "error", text)
		}
		g.bad.Store(&text)
		return
	}
	old := g.own
	if old.Digest == p.Digest {
		g.bad.Store(nil)
		return
	}
	if again := g.found == p.Digest; !again && !complete {
		g.found = p.Digest
		return
	}
	if now := g.policy.Load(); now != nil && now.Rules.RequireStandby && !p.Rules.RequireStandby {
		g.apply(p) // without a standby the entry that lifts the rule could not be written under it
	}
	position, err := g.config.Record(p.Text)
	if err != nil {
		g.apply(g.policy.Load())
		text := unrecorded("new ", err)
		g.bad.Store(&text)
		g.config.Logger.Error("the access policy is not changed: it is tried again", "error", text)
		return
	}
	g.bad.Store(nil)
	g.own = p
	if g.config.Newest != nil {
		if err := g.follow(); err != nil { // Run goes on trying
			g.config.Logger.Warn("the access policy is recorded, and not in force here yet", "error", err)
		}
		g.apply(g.policy.Load()) // which may be another one than the file's, or still the one before
		return
	}
	g.change(p.At(position))
	g.first.Store(nil) // what is recorded last is in force
}

// change puts a policy in force and tells the log.
func (g *Gate) change(p *access.Policy) {
	digest := func(p *access.Policy) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprintf("%x", p.Digest)
	}
	old := g.policy.Load()
	g.adopt(p)
	g.config.Logger.Warn("the access policy has changed", "file", g.config.Path, "before", digest(old),
		"now", digest(p))
}

// read reads a policy from a file that only those may change who may also run the daemon.
func read(path string) (*access.Policy, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("access policy: %s: there is no such file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("access policy: %w", err)
	}
	p, err := access.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// readFile returns the content of a regular file, of which it reads a byte more than a policy may have
// at most. A pipe would hold up the daemon, and a device has no end.
func readFile(path string) ([]byte, error) {
	regular := func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is %v; allowed: a regular file, or a link to one", path, info.Mode())
		}
		return nil
	}
	info, err := os.Stat(path) // before it is opened, as to open a pipe waits
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err == nil { // of the file that is read, whatever is there by now
		err = regular(info)
	}
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o002 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s has mode %04o, so that everybody on this machine can change it; allowed: a file "+
			"that others cannot write (chmod o-w)", path, mode)
	}
	return io.ReadAll(io.LimitReader(f, access.MaxBytes+1))
}
