// SPDX-License-Identifier: Apache-2.0

// Package fleetmodel is a small model of several daemons that keep one ledger on a PostgreSQL
// primary with a synchronous standby. Explore visits every state that the model reaches within
// its bounds, in every order of steps, and returns the shortest way to a state in which a
// promise is broken. The rules that the daemons follow can be left out one by one, which shows
// what each of them is for.
//
// What is modelled of PostgreSQL:
//
//   - A COMMIT writes a record to the write-ahead log. It then waits until the standby has the
//     log up to there, holds its row locks while it waits, and shows its rows only afterwards.
//   - A wait that is cancelled ends with a warning, and the rows are visible although the standby
//     may not have them. The same happens when the backend is terminated, and to every record of
//     the log when the primary restarts.
//   - The standby has a prefix of the log. When it is promoted it goes on from there, and the
//     old primary may go on answering reads, with a log that nobody follows any more.
//   - A merge moves the rows of entries that can be seen, of which nothing else depends. It waits for
//     nothing; its record comes after theirs in the log.
//   - A connection that is cut leaves its backend running: a COMMIT that was sent may arrive
//     later, or never.
//
// Rules states them in words, and Promise says what they keep. docs/decisions/fleet.md gives the reasons.
package fleetmodel
