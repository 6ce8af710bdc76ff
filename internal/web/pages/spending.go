// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
)

// groupings are the ways in which entries are grouped, by the words of addresses.
var groupings = map[string]pb.QuerySpendingRequest_By{"principal": pb.QuerySpendingRequest_PRINCIPAL,
	"label": pb.QuerySpendingRequest_LABEL, "mechanism": pb.QuerySpendingRequest_MECHANISM,
	"month": pb.QuerySpendingRequest_MONTH}

// byOf is how an address groups entries, with the choices of a form.
func byOf(q url.Values) (by string, list []choice, err error) {
	if by = q.Get("by"); by == "" {
		by = "principal"
	}
	if groupings[by] == 0 {
		return by, nil, status.Errorf(codes.InvalidArgument, "by: %q; allowed: principal, label, mechanism or month",
			by)
	}
	return by, choices(by, "principal", "person or program", "label", "label", "mechanism", "mechanism", "month",
		"month"), nil
}

// anywhereBody is a page of the ledgers that a group has spent of.
type anywhereBody struct {
	Asked   *pb.QuerySpendingAnywhereRequest
	By      []choice
	Rows    []*pb.LedgerSpending
	Text    string // what the numbers mean; empty if nothing was asked
	Further string // the address of the next ledgers; empty if there are none

	query url.Values // of the address
}

// spendingAnywhere is a page about one person, or another group, of which a ledger's page leads to it.
func (s *site) spendingAnywhere(r *http.Request) (*page, error) {
	b, err := s.anywhere(r, callRows, blockTime)
	if err != nil {
		return nil, err
	}
	return &page{Title: "Spending", Section: "spending", Body: b}, nil
}

// anywhere asks what an address asks for: about most ledgers at once, and as far as it comes in a time. Without a time
// it reads on.
func (s *site) anywhere(r *http.Request, most int, within time.Duration) (b anywhereBody, err error) {
	began, q := time.Now(), r.URL.Query()
	by, list, err := byOf(q)
	if err != nil {
		return b, err
	}
	b = anywhereBody{By: list, query: q, Asked: &pb.QuerySpendingAnywhereRequest{Name: q.Get("name"),
		By: groupings[by], LabelKey: q.Get("label"), Prefix: q.Get("prefix"), PageSize: callRows,
		PageToken: q.Get("after")}}
	if b.Asked.GetName() == "" {
		return b, nil
	}
	for token := b.Asked.GetPageToken(); ; {
		b.Asked.PageToken = token
		answer, err := s.api.QuerySpendingAnywhere(r.Context(), b.Asked)
		if err != nil {
			return b, err
		}
		b.Rows, b.Text = append(b.Rows, answer.GetRows()...), answer.GetText()
		token = answer.GetNextPageToken()
		if token == "" {
			return b, nil
		}
		if len(b.Rows) >= most || within > 0 && time.Since(began) > within {
			b.Further = b.address("/spending", token)
			return b, nil
		}
	}
}

// address is where the same is asked, from a token on.
func (b anywhereBody) address(path, token string) string {
	q := url.Values{"name": {b.Asked.GetName()}}
	for _, key := range []string{"by", "label", "prefix"} {
		if v := b.query.Get(key); v != "" {
			q.Set(key, v)
		}
	}
	if token != "" {
		q.Set("after", token)
	}
	return path + "?" + q.Encode()
}

// Files are links to files with all ledgers.
func (b anywhereBody) Files() []link {
	return []link{{"CSV", b.address("/file/spending.csv", "")}, {"JSON", b.address("/file/spending.json", "")},
		{"Markdown", b.address("/file/spending.md", "")}}
}

func (s *site) spendingFile(r *http.Request) (file, error) {
	name, err := needed(r, "name", "person or group")
	if err != nil {
		return file{}, err
	}
	b, err := s.anywhere(r, fileRows, 0)
	switch {
	case err != nil:
		return file{}, err
	case b.Further != "":
		return file{}, status.Errorf(codes.InvalidArgument, "more than %d ledgers; allowed: a prefix that fewer have, "+
			"or accountctl spending --of with --output csv", fileRows)
	}
	return file{name: name, message: &pb.QuerySpendingAnywhereResponse{Rows: b.Rows, Text: b.Text},
		table: &table{sheet.LedgerSpendingHead(), all(b.Rows, sheet.LedgerSpending)}}, nil
}

// most is the largest share of a ledger's budgets that a group has used.
type most struct {
	Share *float64
	Of    string
}

func mostOf(r *pb.LedgerSpending) most {
	share, of := spelling.LargestShare(r)
	return most{share, of}
}
