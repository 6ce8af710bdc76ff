package pages

import (
	"net/http"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// auditBody is what lets people trust the ledgers: the daemon's own checks, and signed heads.
type auditBody struct {
	Head *pb.SignedHead
}

func (s *site) audit(r *http.Request) (*page, error) {
	name := r.URL.Query().Get("name")
	p := &page{Title: "Audit", Section: "audit", Ledger: name, Body: auditBody{}}
	if name == "" {
		return p, nil
	}
	answer, err := s.api.GetSignedHead(r.Context(), &pb.GetSignedHeadRequest{Ledger: name})
	if err != nil {
		return nil, err
	}
	p.Title, p.Section, p.Body = "Signed head of "+name, "overview", auditBody{Head: answer.GetSignedHead()}
	return p, nil
}
