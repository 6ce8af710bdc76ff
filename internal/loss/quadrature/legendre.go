// SPDX-License-Identifier: Apache-2.0

package quadrature

// The Gauss–Legendre rule with 16 points on [−1, 1] (Abramowitz–Stegun 1964, Table
// 25.4): its points and weights for x > 0.
var (
	LegendrePoints = [8]float64{
		0.0950125098376374401853193, 0.2816035507792589132304605, 0.4580167776572273863424194,
		0.6178762444026437484466718,
		0.7554044083550030338951012, 0.8656312023878317438804679, 0.9445750230732325760779884,
		0.9894009349916499325961542,
	}
	LegendreWeights = [8]float64{
		0.1894506104550684962853967, 0.1826034150449235888667637, 0.1691565193950025381893121,
		0.1495959888165767320815017,
		0.1246289712555338720524763, 0.0951585116824927848099251, 0.0622535239386478928628438,
		0.0271524594117540948517806,
	}
)

// A function that is analytic and at most M in the ellipse with foci ±h whose
// half axes are LegendreReach·h and legendreHeight·h (sum 6h) is integrated over
// [−h, h] within h·M·LegendreError: Trefethen 2013, Approximation Theory and
// Approximation Practice, Thm 19.3, with ρ = 6, n = 15: 64/15·6^{−30}/(1 − 1/36).
const (
	LegendreReach  = (6 + 1./6) / 2
	legendreHeight = (6 - 1./6) / 2
	LegendreError  = 2.0e-23
)

// MostPanel is the greatest half width for which the ellipse stays within |Im| < π/2.
const MostPanel = 0.5
