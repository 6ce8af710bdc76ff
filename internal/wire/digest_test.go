package wire

import (
	"testing"
)

func BenchmarkDigest(b *testing.B) {
	for b.Loop() {
		Digest(stepCharge)
	}
}
