// SPDX-License-Identifier: Apache-2.0

// Package calls makes commands of the API's calls. A command is a message of the API, a line of use and a way to show
// the answer. The line, such as
//
//	refund NAME --position POSITION --reason REASON --nothing-released [--propose]
//
// declares arguments and flags: each sets the field of its name, the help of a flag is the field's comment in the
// protos, and what does not stand in brackets is needed (usage.go). What the method's options say, such as who may call
// it, is told in the help. Write (write.go) is a command that writes to a ledger under a request ID (once.go); Call
// (call.go) is any other. A command that computes, or makes several calls, uses the parts.
package calls
