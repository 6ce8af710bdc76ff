package wire

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToReconcile converts what a restored ledger has lost: events that are valid under
// adj, none, or an accepted loss. Fields in errors start with "reconcile.".
func ToReconcile(adj mechanism.Adjacency, r *pb.Reconcile) (ledger.Reconcile, error) {
	if r == nil { // which would say that nothing was lost
		return ledger.Reconcile{}, absent("reconcile", "events, none, or accept_loss")
	}
	v, err := toReconcile(r)
	switch {
	case err != nil:
		return ledger.Reconcile{}, err
	case v.Over:
		return ledger.Reconcile{}, invalid("reconcile.over_budget", "true", "false: the daemon finds out")
	}
	if err := checkReconcile(v); err != nil {
		return ledger.Reconcile{}, err
	}
	return v, checkEvents(adj, "reconcile.events", v.Events)
}

// toReconcile converts without a check of ranges.
func toReconcile(r *pb.Reconcile) (ledger.Reconcile, error) {
	v := ledger.Reconcile{AcceptLoss: r.GetAcceptLoss(), Reason: r.GetReason(), Over: r.GetOverBudget()}
	err := known("reconcile", r)
	if err == nil && len(r.GetEvents()) > 0 {
		v.Events, err = toEvents("reconcile.events", r.GetEvents())
	}
	return v, err
}

// checkReconcile checks all but the events.
func checkReconcile(v ledger.Reconcile) error {
	if n := len(v.Events); n > MaxChargeEvents || n > 0 && v.AcceptLoss {
		return invalid("reconcile.events", fmt.Sprintf("%d events", n), "at most 1,000, and none where the loss is accepted; the rest in further ones")
	}
	if v.AcceptLoss {
		return checkReason("reconcile.reason", v.Reason)
	}
	return checkText("reconcile.reason", v.Reason, maxReason)
}

func fromReconcile(v ledger.Reconcile) *pb.Reconcile {
	r := &pb.Reconcile{AcceptLoss: v.AcceptLoss, Reason: v.Reason, OverBudget: v.Over}
	if len(v.Events) > 0 {
		r.Events = FromEvents(v.Events)
	}
	return r
}

// toRestored converts without a check of ranges.
func toRestored(r *pb.Restored) (ledger.Restored, error) {
	v := ledger.Restored{From: r.GetFromStoreId(), StoreID: r.GetStoreId()}
	if err := known("restored", r); err != nil {
		return v, err
	}
	if n := copy(v.Copy[:], r.GetBackupSha256()); n != len(r.GetBackupSha256()) || n != len(v.Copy) {
		return v, invalid("restored.backup_sha256", fmt.Sprintf("%d bytes", len(r.GetBackupSha256())), "32 bytes")
	}
	if err := r.GetNewestTime().CheckValid(); err != nil {
		return v, invalid("restored.newest_time", err.Error(), "a time")
	}
	v.Newest = r.GetNewestTime().AsTime()
	return v, nil
}

func checkRestored(v ledger.Restored) error {
	for _, f := range []struct{ field, id string }{{"from_store_id", v.From}, {"store_id", v.StoreID}} {
		if !isUUID(f.id) {
			return invalid("restored."+f.field, show(f.id), "a UUID in lower case")
		}
	}
	if _, err := toNanos(v.Newest); err != nil {
		return under("restored.newest_time", err)
	}
	return nil
}

func fromRestored(v ledger.Restored) *pb.Restored {
	return &pb.Restored{FromStoreId: v.From, StoreId: v.StoreID, BackupSha256: v.Copy[:], NewestTime: timestamppb.New(v.Newest)}
}
