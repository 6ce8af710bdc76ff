// SPDX-License-Identifier: Apache-2.0

package fleetmodel

// Rules are what the daemons do. Each can be left out.
type Rules struct {
	// Compare: a commit changes the ledger only if the head is the one it was decided on.
	Compare bool
	// Locked: COMMIT is sent only after the database has said that the head's row is locked for
	// this transaction. Otherwise lock, comparison and COMMIT are sent together.
	Locked bool
	// Fence: an unknown outcome is read only with the head's row locked, so that the transaction
	// whose outcome is unknown has ended.
	Fence bool
	// FenceWrites: the fence also changes the row, and a commit compares what it has changed.
	FenceWrites bool
	// Warning: a commit whose wait was cancelled has an unknown outcome.
	Warning bool
	// CoverResolved: what resolving an unknown outcome found is acknowledged only after a
	// synchronous write that began after it was read.
	CoverResolved bool
	// CoverDenied: that nothing was written is said only after such a write, too.
	CoverDenied bool
	// CoverDuplicate: the same for a record that is acknowledged as a duplicate.
	CoverDuplicate bool
	// Fresh: a question reads the head from the database after it was asked.
	Fresh bool
	// CoverAnswer: a question is answered only after a synchronous write that began after its
	// head was read.
	CoverAnswer bool
	// SparedAnswer: CoverAnswer is left out where the daemon knows of this very head that it is
	// replicated.
	SparedAnswer bool
	// SameSession: that write is made by the session that has read. Otherwise it may be made by
	// another session, even one that is connected to another server.
	SameSession bool
	// Tell: a daemon on the promoted server first writes there what it knows to be lost.
	Tell bool
	// Entries: what became of a commit is read from the entries, wherever a merge has moved them, and not from the rows
	// that it wrote.
	Entries bool
	// Barrier: nothing is read in a session before one synchronous write of that session.
	Barrier bool
}

// All are the rules that the daemons follow. Barrier is not among them: the others imply what it
// is for.
var All = Rules{Compare: true, Locked: true, Fence: true, Warning: true, CoverResolved: true,
	CoverDenied: true, CoverDuplicate: true, Fresh: true, CoverAnswer: true, SameSession: true, Tell: true,
	Entries: true}

// World says what can happen, and how often at most.
type World struct {
	Budget   int // how many charges the ledger allows
	Clients  int // each makes one charge; at most 3
	Attempts int // of each client, at any daemon
	Cuts     int // of connections, by the network
	Cancels  int // of waits, or terminated backends, by an operator
	Restarts int // of the primary
	Kills    int // of daemons
	Merges   int // of the rows of entries, by some daemon
	Asked    bool
	// Async: commits do not wait for the standby, so a promotion may lose what was acknowledged. The promises are
	// then Told, Once and NotWritten. Without Zombie.
	Async bool
	// Zombie: the old primary goes on taking connections after the promotion.
	Zombie bool
}
