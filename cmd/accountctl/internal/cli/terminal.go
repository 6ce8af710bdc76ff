// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// coloured reports whether colours may be written to w.
func coloured(w io.Writer, env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && IsTerminal(w)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Screen is the terminal's width, 80 where there is none, and whether it has colours.
func (p *Program) Screen() (width int, colours bool) {
	if p.width > 0 {
		return p.width, p.Colour
	}
	return 80, p.Colour
}

// columnsOf is the width that $COLUMNS asks for, 0 if it does not.
func columnsOf(env func(string) string) int {
	n, err := strconv.Atoi(env("COLUMNS"))
	if err != nil || n < minColumns {
		return 0
	}
	return n
}

// minColumns is the narrowest that text is wrapped to.
const minColumns = 40

// widthOf is the terminal's width, 0 if f is none.
func widthOf(f any) int {
	if file, ok := f.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return 0
}
