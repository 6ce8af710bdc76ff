package num

import "math"

// LogUp returns a float64 ≥ ln x for x ≥ 0: −Inf at 0. math.Log is within one
// unit in the last place.
func LogUp(x float64) float64 {
	if x == 0 || x == 1 {
		return math.Log(x)
	}
	return Up(math.Log(x))
}

// Count returns a float64 ≥ n.
func Count(n uint64) float64 {
	f := float64(n)
	if f < 0x1p53 {
		return f
	}
	return Up(f)
}
