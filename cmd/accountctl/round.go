package main

import "github.com/dpaccountant/accountant/internal/num"

// digits is how many significant digits tables show of ε and δ.
const digits = 6

// Numbers are shown on the safe side: ceil never below, floor never above; the other
// two as far as people read the shortest decimal.
func ceil(x float64, n int) string      { return num.FormatUp(x, n) }
func floor(x float64, n int) string     { return num.FormatDown(x, n) }
func ceilRead(x float64, n int) string  { return num.FormatReadUp(x, n) }
func floorRead(x float64, n int) string { return num.FormatReadDown(x, n) }
