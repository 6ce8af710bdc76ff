package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToCharge converts a charge of 1 to MaxChargeEvents events that are valid
// under adj. Fields in errors start with "charge.".
func ToCharge(adj mechanism.Adjacency, c *pb.Charge) (ledger.Charge, error) {
	charge, err := toCharge(c)
	if err != nil {
		return ledger.Charge{}, err
	}
	if err := checkEvents(adj, "charge.events", charge.Events); err != nil {
		return ledger.Charge{}, err
	}
	return charge, nil
}

// toCharge converts without a check of the events' ranges.
func toCharge(c *pb.Charge) (ledger.Charge, error) {
	if err := Known("charge", c); err != nil {
		return ledger.Charge{}, err
	}
	events, labels, err := toCharged("charge", c.GetEvents(), c.GetLabels())
	return ledger.Charge{Events: events, Labels: labels}, err
}

// toCharged converts what charge, reserve and commit have in common.
func toCharged(field string, events []*pb.Event, labels map[string]string) ([]mechanism.Event, []ledger.Label, error) {
	if err := checkEventNumber(field+".events", len(events)); err != nil {
		return nil, nil, err
	}
	out, err := toEvents(field+".events", events)
	if err != nil {
		return nil, nil, err
	}
	list, err := ToLabels(field+".labels", labels)
	if err != nil {
		return nil, nil, err
	}
	return out, list, nil
}

func checkEventNumber(field string, n int) error {
	const allowed = "1 to 1,000 events"
	switch {
	case n == 0:
		return Absent(field, allowed)
	case n > MaxChargeEvents:
		return Invalid(field, fmt.Sprintf("%d events", n), allowed)
	}
	return nil
}

// FromCharge is the inverse of ToCharge.
func FromCharge(c ledger.Charge) *pb.Charge {
	return &pb.Charge{Events: FromEvents(c.Events), Labels: fromLabels(c.Labels)}
}

var chargeForm = travels[ledger.Charge, *pb.Charge]{toCharge, checkCharge, FromCharge}

func checkCharge(v ledger.Charge) error { return checkCharged("charge", v.Events, v.Labels) }
