// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// ledgersOffered is how many ledgers the audit page lists at once.
const ledgersOffered = 50

// auditBody is what lets people trust the ledgers: when everything was verified and backed up, and what the daemon
// signs about each ledger.
type auditBody struct {
	Head *pb.SignedHead // of the ledger that the page is about; otherwise the rest is shown

	Store   *pb.GetStoreStatusResponse
	NoStore string // why it is not shown, such as a role that the reader lacks
	Prefix  string // of the names that were asked for
	Ledgers []*pb.Ledger
	More    string // the address of the next page of them; empty on the last
}

func (s *site) audit(r *http.Request) (*page, error) {
	q := r.URL.Query()
	if name := q.Get("name"); name != "" {
		answer, err := s.api.GetSignedHead(r.Context(), &pb.GetSignedHeadRequest{Ledger: name})
		if err != nil {
			return nil, err
		}
		return &page{Title: "Signed head of " + name, Section: "overview", Ledger: name,
			Body: auditBody{Head: answer.GetSignedHead()}}, nil
	}
	b := auditBody{Prefix: q.Get("prefix")}
	store, err := s.api.GetStoreStatus(r.Context(), &pb.GetStoreStatusRequest{})
	if b.Store = store; err != nil {
		b.Store, b.NoStore = nil, sentence(status.Convert(err).Message())
	}
	list, err := s.api.ListLedgers(r.Context(), &pb.ListLedgersRequest{Prefix: b.Prefix, PageSize: ledgersOffered,
		PageToken: q.Get("page")})
	if err != nil {
		return nil, err
	}
	b.Ledgers = list.GetLedgers()
	if token := list.GetNextPageToken(); token != "" {
		b.More = "/audit?" + url.Values{"prefix": {b.Prefix}, "page": {token}}.Encode()
	}
	return &page{Title: "Audit", Section: "audit", Body: b}, nil
}

// BackupAge is how old the newest backup was when the daemon answered, in words.
func (b auditBody) BackupAge() string {
	return age(b.Store.GetTime().AsTime().Sub(b.Store.GetNewestBackup().GetTime().AsTime()))
}

// VerificationAge is how long ago the last verification ended when the daemon answered, in words.
func (b auditBody) VerificationAge() string {
	return age(b.Store.GetTime().AsTime().Sub(b.Store.GetLastVerification().GetEndTime().AsTime()))
}

// Every is the time between two verifications, in words; empty if the daemon begins none by itself.
func (b auditBody) Every() string {
	if s := b.Store.GetVerificationIntervalSeconds(); s > 0 {
		return age(time.Duration(s) * time.Second)
	}
	return ""
}
