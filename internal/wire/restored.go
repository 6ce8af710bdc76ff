package wire

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

var restoredForm = travels[ledger.Restored, *pb.Restored]{toRestored, checkRestored, fromRestored}

// toRestored converts without a check of ranges.
func toRestored(r *pb.Restored) (ledger.Restored, error) {
	v := ledger.Restored{From: r.GetFromStoreId(), StoreID: r.GetStoreId()}
	if err := Known("restored", r); err != nil {
		return v, err
	}
	if n := copy(v.Copy[:], r.GetBackupSha256()); n != len(r.GetBackupSha256()) || n != len(v.Copy) {
		return v, Invalid("restored.backup_sha256", fmt.Sprintf("%d bytes", len(r.GetBackupSha256())), "32 bytes")
	}
	if err := r.GetNewestTime().CheckValid(); err != nil {
		return v, Invalid("restored.newest_time", err.Error(), "a time")
	}
	v.Newest = r.GetNewestTime().AsTime()
	v.Lost.Position = r.GetLostPosition()
	want := 0 // bytes of the hash of a lost entry
	if v.Lost.Position > 0 {
		want = len(v.Lost.Hash)
	}
	if n := copy(v.Lost.Hash[:], r.GetLostHash()); n != len(r.GetLostHash()) || n != want {
		return v, Invalid("restored.lost_hash", fmt.Sprintf("%d bytes", len(r.GetLostHash())),
			fmt.Sprintf("%d bytes with lost_position %d", want, v.Lost.Position))
	}
	return v, nil
}

func checkRestored(v ledger.Restored) error {
	for _, f := range []struct{ field, id string }{{"from_store_id", v.From}, {"store_id", v.StoreID}} {
		if !IsUUID(f.id) {
			return Invalid("restored."+f.field, Quote(f.id), "a UUID in lower case")
		}
	}
	if _, err := Nanos(v.Newest); err != nil {
		return Under("restored.newest_time", err)
	}
	return nil
}

func fromRestored(v ledger.Restored) *pb.Restored {
	r := &pb.Restored{FromStoreId: v.From, StoreId: v.StoreID, BackupSha256: v.Copy[:],
		NewestTime: timestamppb.New(v.Newest), LostPosition: v.Lost.Position}
	if v.Lost.Position > 0 {
		r.LostHash = v.Lost.Hash[:]
	}
	return r
}
