package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// barEvery is the least time between two drawings of a bar.
const barEvery = 100 * time.Millisecond

// Bar shows on a terminal how much of something is done.
type Bar struct {
	w    io.Writer // nil: nothing is shown
	what string
	unit func(uint64) string
	next time.Time // when it is drawn again
	now  func() time.Time
}

// Bar starts one; nothing is shown where standard error is no terminal.
func (p *Program) Bar(what string, unit func(uint64) string) *Bar {
	b := &Bar{what: what, unit: unit, now: time.Now}
	if IsTerminal(p.Err) {
		b.w = p.Err
		b.next = time.Now().Add(time.Second) // what is done at once needs none
	}
	return b
}

// Set draws it, unless it was drawn just before. A total of 0 is not known.
func (b *Bar) Set(done, total uint64) {
	if b.w == nil || b.now().Before(b.next) {
		return
	}
	b.next = b.now().Add(barEvery)
	const width = 30
	if total == 0 { // nobody knows
		_, _ = fmt.Fprintf(b.w, "\r\033[K%s … %s", b.what, b.unit(done))
		return
	}
	n := int(width * min(1, float64(done)/float64(total)))
	_, _ = fmt.Fprintf(b.w, "\r\033[K%s [%s%s] %s of %s", b.what, strings.Repeat("=", n), strings.Repeat(" ", width-n), b.unit(done), b.unit(total))
}

// Clear removes the line.
func (b *Bar) Clear() {
	if b.w != nil {
		_, _ = fmt.Fprint(b.w, "\r\033[K")
	}
}

// Bytes is a size in bytes for people: "12.3 MiB".
func Bytes(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if value /= 1 << 10; value < 1<<10 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
