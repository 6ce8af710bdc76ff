// SPDX-License-Identifier: Apache-2.0

package wirejson

import (
	"encoding/json"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// JSON has no character that steers a terminal or turns text around, and every reader
// gets the value that was written.
func TestJSONSteersNothing(t *testing.T) {
	reason := "plain é 中 \u009b31m red \u202e turned \u2066 \u200f \u061c \u007f \x1b[2J tab\t end"
	b, err := Marshal(&pb.Close{Reason: reason})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(string(b), Steers) || !strings.Contains(string(b), `\u009b31m`) ||
		!strings.Contains(string(b), "é 中") {
		t.Errorf("%q", b)
	}
	var again pb.Close
	if err := Unmarshal(b, &again); err != nil || again.GetReason() != reason {
		t.Errorf("read again: %q, %v", again.GetReason(), err)
	}
	var other struct{ Reason string }
	if err := json.Unmarshal(b, &other); err != nil || other.Reason != reason {
		t.Errorf("by another reader: %q, %v", other.Reason, err)
	}
}
