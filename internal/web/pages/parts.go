package pages

import (
	"html/template"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// tabs is the navigation within a ledger.
type tabs struct{ Ledger, Here string }

// amounts is a row of the table of budgets.
type amounts struct {
	Name string
	Of   *pb.Amount
}

func labelsOf(e *pb.Entry) string { return text(spelling.Labels(spelling.ActionOf(e).Labels)) }

func moment(t time.Time) template.HTML { return when(timestamppb.New(t)) }
