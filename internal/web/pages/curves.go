// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
)

// curvesBody is what an attacker can learn from a ledger's releases.
type curvesBody struct {
	Answer          *pb.QueryPrivacyCurveResponse
	Spec            *pb.LedgerSpec
	Curve, TradeOff *figure.Figure
	Shown           []*pb.CurvePoint // some of the points, as a table
}

// Of says what the curves are of, and when they hold.
func (b curvesBody) Of() string {
	switch b.Answer.GetGuarantee() {
	case "filter":
		return "These curves are of the whole budget: of the worst that may ever be charged within it, and not only " +
			"of what was charged so far. They hold also if what was run depended on earlier outputs."
	case "plan":
		return "These curves are of the whole plan, and not only of what was charged so far. They hold in whatever " +
			"order it is run and wherever it stops."
	}
	return "These curves are of what was charged or is reserved so far. They hold if neither what was run, nor its " +
		"parameters, nor when it stopped depended on outputs."
}

// Between reports whether the curve is known to lie between two lines.
func (b curvesBody) Between() bool {
	return slices.ContainsFunc(b.Answer.GetPoints(), func(p *pb.CurvePoint) bool { return p.LogDeltaLower != nil })
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
	got, err := s.api.GetLedger(r.Context(), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		return nil, err
	}
	of := fmt.Sprintf("%s at position %d", name, answer.GetPosition())
	b := curvesBody{Answer: answer, Spec: got.GetLedger().GetSpec(), Curve: charts.Curve(answer, of),
		TradeOff: charts.TradeOff(answer, of)}
	for i := 0; i < len(answer.GetPoints()); i += curveStep {
		b.Shown = append(b.Shown, answer.GetPoints()[i])
	}
	return &page{Title: "Curves of " + name, Section: "overview", Ledger: name, Body: b}, nil
}
