// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
)

// A thousand single steps: the frame is used, not made anew each time, and the sums
// it has drifted through agree with fresh ones.
func TestCacheStaysOverManySteps(t *testing.T) {
	var cache Cache
	one := pldtest.Losses(t, pldtest.SampledSteps(0.01, 1, 1))[0].Loss
	down, up := num.LogDown(1e-5), num.LogUp(1e-5)
	made := 0
	var last *frame
	for n := uint64(1000); n <= 2000; n++ {
		l := loss.Composition{{Loss: one, Count: n}}
		b, ok := cache.Epsilon(l, down, up, interval.Wanted{})
		if !ok || !(b.Upper-b.Lower <= 1e-6*math.Max(1, b.Upper)) {
			t.Fatalf("n=%d: %+v %v", n, b, ok)
		}
		if cache.frames[loss.Remove] != last {
			last = cache.frames[loss.Remove]
			made++
		}
		if n%250 == 0 {
			if want, _ := Epsilon(l, down, up, interval.Wanted{}); b.Lower > want.Upper || b.Upper < want.Lower {
				t.Errorf("n=%d: [%v, %v], without the cache [%v, %v]", n, b.Lower, b.Upper, want.Lower, want.Upper)
			}
		}
	}
	if made > 50 { // twenty steps a frame at least: otherwise it is no cache
		t.Errorf("%d frames were made for 1,001 questions", made)
	}
}

// A question that wants a narrower interval than any frame proves leaves the frame to the questions that want less.
func TestCacheKeepsItsFrame(t *testing.T) {
	var cache Cache
	c := pldtest.Losses(t, pldtest.SampledSteps(0.01, 1, 1000))
	down, up := num.LogDown(1e-5), num.LogUp(1e-5)
	if _, ok := cache.Epsilon(c, down, up, interval.Wanted{}); !ok {
		t.Fatal("the cache does not answer a usual question")
	}
	frame := cache.frames[loss.Remove]
	if _, ok := cache.Epsilon(c, down, up, interval.Wanted{Gap: 1e-14}); ok {
		t.Fatal("the cache answers as closely as float64 cannot, the test shows nothing")
	}
	if cache.frames[loss.Remove] != frame {
		t.Error("the frame was lost to a question that it cannot answer")
	}
	if b, ok := cache.Epsilon(c, down, up, interval.Wanted{}); !ok || !(b.Upper-b.Lower <= 1e-6*b.Upper) {
		t.Errorf("[%v, %v] %v from the frame that was kept", b.Lower, b.Upper, ok)
	}
}
