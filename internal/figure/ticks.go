// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// tick is a number on an axis with its label. below is what stands under the label: the date
// of a time of day, or the year of a date, where it changes.
type tick struct {
	at           float64
	label, below string
}

// ticks are at most some eight labels between low and high.
func (a Axis) ticks(low, high float64) []tick {
	switch a.Kind {
	case Powers:
		return powerTicks(low, high)
	case Times:
		return timeTicks(low, high)
	}
	step := niceStep((high - low) / 6)
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	var ticks []tick
	// Adding 0 makes 0 of −0.
	for i := math.Ceil(low/step-1e-9) + 0; i*step <= high+step*1e-9; i++ {
		label := strconv.FormatFloat(i*step, 'f', decimals, 64)
		if math.Abs(i*step) >= 1e7 {
			label = strconv.FormatFloat(i*step, 'g', 4, 64)
		}
		if a.Kind == Percents {
			label += " %"
		}
		ticks = append(ticks, tick{at: i * step, label: strings.Replace(label, "-", "−", 1)})
	}
	return ticks
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is at least x.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// powerTicks are whole powers of ten: labelled so that at most eight are.
func powerTicks(low, high float64) []tick {
	step := max(1, int(math.Ceil((high-low)/8)))
	var ticks []tick
	for e := int(math.Ceil(low - 1e-9)); e <= int(math.Floor(high+1e-9)); e++ {
		if e%step == 0 {
			ticks = append(ticks, tick{at: float64(e), label: power(e)})
		}
	}
	return ticks
}

var raised = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶",
	"7", "⁷", "8", "⁸", "9", "⁹")

func power(e int) string {
	switch e {
	case 0:
		return "1"
	case 1:
		return "10"
	}
	return "10" + raised.Replace(strconv.Itoa(e))
}

// timeSteps are the distances between labelled times.
var timeSteps = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
	5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour}

const mostTimes = 6

// timeTicks are times that people would choose: whole hours, days, or firsts of a month.
func timeTicks(low, high float64) []tick {
	from, to := time.Unix(int64(math.Ceil(low)), 0).UTC(), time.Unix(int64(math.Floor(high)), 0).UTC()
	span := to.Sub(from)
	for _, step := range timeSteps {
		if span/step < mostTimes {
			layout, below := time.TimeOnly, "2 Jan 2006"
			switch {
			case step >= 24*time.Hour:
				layout, below = "2 Jan", "2006"
			case step >= time.Minute:
				layout = "15:04"
			}
			at := from.Truncate(step)
			if at.Before(from) {
				at = at.Add(step)
			}
			return labelled(at, to, func(t time.Time) time.Time { return t.Add(step) }, layout, below)
		}
	}
	months := 1 + int(span/(mostTimes*30*24*time.Hour))
	for _, step := range []int{1, 2, 3, 6, 12} {
		if step >= months {
			months = step
			break
		}
	}
	if months > 12 {
		months = (months + 11) / 12 * 12
	}
	first := time.Date(from.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
	for first.Before(from) {
		first = first.AddDate(0, months, 0)
	}
	layout, below := "Jan", "2006"
	if months >= 12 {
		layout, below = "2006", ""
	}
	return labelled(first, to, func(t time.Time) time.Time { return t.AddDate(0, months, 0) }, layout, below)
}

func labelled(at, to time.Time, next func(time.Time) time.Time, layout, below string) []tick {
	var ticks []tick
	last := ""
	for ; !at.After(to); at = next(at) {
		t := tick{at: float64(at.Unix()), label: at.Format(layout)}
		if day := at.Format(below); day != last {
			t.below, last = day, day
		}
		ticks = append(ticks, t)
	}
	return ticks
}
