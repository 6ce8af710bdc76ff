// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Weight estimates how many bytes of memory a request takes. One that was refused before it was understood has no
// action.
func (r Request) Weight() int {
	const least, each = 256, 32
	if r.Action == nil {
		return least
	}
	d := r.Action.Details()
	n := least + len(d.Reason) + d.More
	for _, e := range d.Events {
		n += each + mechanism.Size(e.Mechanism)
	}
	for _, l := range d.Labels {
		n += each + len(l.Key) + len(l.Value)
	}
	return n
}
