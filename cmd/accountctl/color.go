package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// colours of results, as SGR numbers (ECMA-48).
var colours = map[string]int{foundOK: 32, foundWarn: 33, foundFail: 31}

// paint colours a result on a terminal, padded to four columns, unless NO_COLOR is
// set (no-color.org) or the terminal is dumb.
func (p *program) paint(result string) string {
	text := fmt.Sprintf("%-4s", result)
	if !p.colour {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[result], text)
}

// coloured reports whether colours may be written to w.
func coloured(w io.Writer, env func(string) string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && isTerminal(w)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
