// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// tooOld is the age from which a verification or a backup is said to be old.
const tooOld = 7 * 24 * time.Hour

// GetStoreStatus implements the API.
func (u *Upkeep) GetStoreStatus(context.Context, *pb.GetStoreStatusRequest) (*pb.GetStoreStatusResponse, error) {
	u.mu.Lock()
	answer, err := u.read()
	unread := u.unread
	u.mu.Unlock()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	answer.StoreId, answer.Kind = u.config.Store.ID(), cmp.Or(u.config.Place.Kind, "memory")
	answer.Version, answer.StartTime, answer.Time = u.config.Version, timestamppb.New(u.started), timestamppb.New(now)
	if u.verifies() {
		answer.VerificationIntervalSeconds = uint64(max(1, u.config.Interval/time.Second))
	}
	if promises := u.config.Place.Promises; promises != nil {
		if answer.Promises, err = promises(); err != nil {
			return nil, err
		}
	}
	if warnings := u.config.Place.Warnings; warnings != nil {
		if answer.Warnings, err = warnings(); err != nil {
			return nil, err
		}
	}
	if unread != nil {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("The newest check could not read everything that is "+
			"stored: %v. The daemon checks it again.", unread))
	}
	answer.Warnings = slices.Concat(answer.Warnings, verificationWarnings(answer, now), backupWarnings(answer, now))
	return answer, nil
}

// verifies reports whether the daemon verifies the store by itself.
func (u *Upkeep) verifies() bool {
	_, alone := u.config.Store.(checkable)
	_, inTurns := u.config.Store.(sweepable)
	return (alone || inTurns) && u.config.Interval > 0
}

func verificationWarnings(m *pb.GetStoreStatusResponse, now time.Time) []string {
	v := m.GetLastVerification()
	next := "Everything is verified when a backup is made with \"accountctl backup\"."
	if m.GetVerificationIntervalSeconds() > 0 {
		next = "The daemon verifies everything after its start, and then again and again; its log says if that fails."
	}
	do := "Stop the daemon, keep what is there, look at the disk, and restore a backup (docs/durability.md)."
	if m.GetKind() == "database" {
		do = "What needs the damaged rows is refused, and everything else goes on. Keep a copy of the server's " +
			"files, look at its disk, and see whether a standby has the rows whole (docs/fleet.md)."
		if m.GetVerificationIntervalSeconds() > 0 {
			next = "The daemons verify everything, one of them at a time, again and again; their logs say if that " +
				"fails."
		}
	}
	switch age := now.Sub(v.GetEndTime().AsTime()); {
	case v.GetDamage() != "":
		return []string{fmt.Sprintf("The last verification found damage: %s. %s", v.GetDamage(), do)}
	case v == nil:
		return []string{"No verification is known. " + next}
	case age >= tooOld:
		return []string{fmt.Sprintf("The last verification was %s ago. %s", days(age), next)}
	}
	return nil
}

// known says which backups a daemon can know of.
const known = "The daemon knows only of backups that \"accountctl backup\" has made. "

func backupWarnings(m *pb.GetStoreStatusResponse, now time.Time) []string {
	b := m.GetNewestBackup()
	switch age := now.Sub(b.GetTime().AsTime()); {
	case b == nil:
		return []string{"No backup is known. " + known + "If others are made in another way, look there how old the " +
			"newest one is."}
	case age >= tooOld:
		return []string{fmt.Sprintf("The newest known backup is %s old: what was charged since then is not in it. %s"+
			"If others are made in another way, look there how old the newest one is.", days(age), known)}
	}
	return nil
}

func days(age time.Duration) string {
	if n := int(age / (24 * time.Hour)); n != 1 {
		return fmt.Sprintf("%d days", n)
	}
	return "1 day"
}
