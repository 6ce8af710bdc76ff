// SPDX-License-Identifier: Apache-2.0

package checks

// What doctor finds.
const (
	foundOK   = "ok"
	foundWarn = "warn"
	foundFail = "fail"
)

// finding is one line of the doctor's.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"` // ok, warn or fail
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do, unless it is ok
}
