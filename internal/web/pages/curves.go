package pages

import (
	"fmt"
	"net/http"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
)

// curvesBody is what an attacker can learn from a ledger's releases.
type curvesBody struct {
	Answer          *pb.QueryPrivacyCurveResponse
	Curve, TradeOff *figure.Figure
	Shown           []*pb.CurvePoint // some of the points, as a table
}

// curvePoints is how many points a curve is drawn with, and every how many of them stands in the
// table. A drawing shows no smaller gap between the bounds of ln δ than curveGap, and tighter ones take
// seconds.
const (
	curvePoints = 160
	curveStep   = 16
	curveGap    = 0.01
)

func (s *site) curves(r *http.Request) (*page, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return nil, err
	}
	answer, err := s.api.QueryPrivacyCurve(r.Context(), &pb.QueryPrivacyCurveRequest{
		Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: name}, Points: curvePoints,
		MaxGap: proto.Float64(curveGap)})
	if err != nil {
		return nil, err
	}
	of := fmt.Sprintf("%s at position %d", name, answer.GetPosition())
	b := curvesBody{Answer: answer, Curve: charts.Curve(answer, of), TradeOff: charts.TradeOff(answer, of)}
	for i := 0; i < len(answer.GetPoints()); i += curveStep {
		b.Shown = append(b.Shown, answer.GetPoints()[i])
	}
	return &page{Title: "Curves of " + name, Section: "overview", Ledger: name, Body: b}, nil
}
