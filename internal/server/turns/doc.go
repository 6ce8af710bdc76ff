// SPDX-License-Identifier: Apache-2.0

// Package turns lets the daemon answer questions without making charges wait. Rotation admits
// questions, refuses those beyond its bound, and has the admitted ones compute one slice of time
// after the other; InTime runs one of them beside its call and ends it in time.
package turns
