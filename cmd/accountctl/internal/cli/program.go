// SPDX-License-Identifier: Apache-2.0

// Package cli is the frame of every subcommand of accountctl, and knows none of them:
// Program holds what they share; connect.go reaches the daemon; exit.go makes errors
// one line and an exit status; output.go and table.go write answers for programs and for
// people, and clean.go makes text harmless that others wrote; group.go builds commands
// with their arguments; file.go reads files; terminal.go and progress.go know terminals.
package cli

import (
	"bufio"
	"cmp"
	"io"
)

// Program is what every subcommand shares: how it reaches the daemon, and where it reads
// and writes.
type Program struct {
	connection
	In  io.Reader
	Out *bufio.Writer // whoever runs the command flushes it
	Err io.Writer

	// Words are the arguments of the line that is run, without the commands that Group has found in it. They
	// are nil where no line is run.
	Words []string

	Colour bool // colours may be written to Out
	width  int  // of the terminal that Out is; 0 if it is none

	errWidth int // of the terminal that Err is
}

// NewProgram makes a program with these streams, in an environment.
func NewProgram(env func(string) string, in io.Reader, out, err io.Writer) *Program {
	return &Program{In: in, Out: bufio.NewWriter(out), Err: err, Colour: coloured(out, env),
		width: cmp.Or(widthOf(out), columnsOf(env)), errWidth: cmp.Or(widthOf(err), columnsOf(env))}
}
