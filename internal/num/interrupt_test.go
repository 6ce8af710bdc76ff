// SPDX-License-Identifier: Apache-2.0

package num

import "testing"

// A computation is given up at the first loop after the time is over, by its own Try only;
// other panics go on.
func TestInterrupt(t *testing.T) {
	over := false
	i := NewInterrupt(func() bool { return over })
	n := 0
	if !i.Try(func() {
		for range 10 {
			i.Spend(asking)
			n++
		}
	}) || n != 10 {
		t.Errorf("with time left: %d of 10", n)
	}
	over = true
	n = 0
	if i.Try(func() {
		for range 10 {
			i.Spend(asking / 2)
			n++
		}
	}) || n != 1 {
		t.Errorf("without: %d turns of half of what is done however little time there is; want 1", n)
	}
	other := NewInterrupt(func() bool { return true })
	if i.Try(func() {
		other.Try(func() { i.Spend(asking) })
		t.Error("another's Try took it")
	}) {
		t.Error("was not given up")
	}
	func() {
		defer func() {
			if p := recover(); p != "other" {
				t.Errorf("another panic became %v", p)
			}
		}()
		i.Try(func() { panic("other") })
	}()
	i = new(Interrupt)
	if !i.Try(func() { i.Spend(10 * asking) }) || i.Stopped() {
		t.Error("nothing to ask: was given up")
	}
	var none *Interrupt
	if !none.Try(func() { none.Spend(10 * asking) }) || none.Stopped() || NewInterrupt(nil) != nil {
		t.Error("nil was given up")
	}
}
