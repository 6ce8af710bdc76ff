// SPDX-License-Identifier: Apache-2.0

// Package questions stands between the API's questions and the accountant's: it converts what a
// client asks about privacy (a query, a curve, a calibration, a statement), and the answers, with
// warnings about inputs that are allowed and often a mistake.
//
// It uses package wire for everything that questions share with charges: events, mechanisms, names
// and errors. As in that package, what has passed a To… function is valid.
package questions
