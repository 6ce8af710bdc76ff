// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/plain"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// functions are what templates write values with. Whatever comes from outside goes through text,
// which drops what would turn a line's direction; html/template escapes the rest.
var functions = template.FuncMap{
	"text":      text,
	"dataset":   func(id string) string { return text(spelling.Identifier(id)) },
	"said":      plain.Text, // by the daemon: whole, as an assumption may stand at its end
	"refusal":   spelling.Refusal,
	"epsilon":   func(x float64) template.HTML { return number(x, up(x)) },
	"exactly":   func(x float64) template.HTML { return number(x, spelling.Exact(x)) },
	"atMost":    func(x float64) template.HTML { return number(x, num.FormatUp(x, 4)) },
	"atLeast":   func(x float64) template.HTML { return number(x, num.FormatDown(x, 4)) },
	"share":     func(x float64) template.HTML { return number(x, percent(x)) },
	"left":      func(x float64) template.HTML { return number(x, num.FormatReadDown(x, 4)) },
	"used":      func(x float64) template.HTML { return number(x, num.FormatReadUp(x, 4)) },
	"remaining": leftOf,
	"thousands": thousands,
	"count":     count,
	"when":      when,
	"whenShort": whenShort,
	"figure":    func(f *figure.Figure) template.HTML { return template.HTML(f.Inline()) }, // its texts are escaped
	"budget":    spelling.Budget,
	"adjacency": spelling.Adjacency,
	"differ":    spelling.Neighbours,
	"counted":   func(budget string) string { return text(spelling.Counted(budget)) },
	"covers":    func(guarantee string) string { return covers[guarantee] },
	"mechanism": func(m *pb.Mechanism) string { return text(spelling.Mechanism(m)) },
	"guarantee": func(g string) string { return capital(spelling.Guarantees[g]) },
	"state":     spelling.State,
	"held":      func(r *pb.Reservation) string { return text(spelling.Held(r)) },
	"action":    func(e *pb.Entry) string { return text(spelling.ActionOf(e).String()) },
	"proposed":  func(p *pb.Propose) string { return text(spelling.Proposed(p)) },
	"flag":      func(f string) string { return flagWords[f] },
	"labelsOf":  labelsOf,
	"moment":    moment,
	"tab":       func(ledger, here string) tabs { return tabs{ledger, here} },
	"files":     filesOf,
	"mostOf":    mostOf,
	"amount":    func(name string, of *pb.Amount) amounts { return amounts{name, of} },
	"size":      bytesOf,
	"hex":       func(b []byte) string { return fmt.Sprintf("%x", b) },
	"meter":     func(x float64) string { return strconv.FormatFloat(math.Max(0, math.Min(1, x)), 'f', 4, 64) },
}

// longest is how many characters of a text are shown in a page; nobody reads more in a table.
const longest = 300

// text makes what others wrote harmless, and shortens it.
func text(s string) string {
	if utf8.RuneCountInString(s) > longest {
		s = string([]rune(s)[:longest]) + "…"
	}
	return plain.Text(s)
}

// number shows a number as text, with the whole of it in the page's source.
func number(x float64, shown string) template.HTML {
	return template.HTML(fmt.Sprintf(`<data value="%s">%s</data>`, strconv.FormatFloat(x, 'g', -1, 64),
		template.HTMLEscapeString(shown)))
}

// up is ε with two decimals, never below x; what is small keeps two digits.
func up(x float64) string {
	if x > 0 && x < 0.1 {
		return num.FormatUp(x, 2)
	}
	return num.FormatDecimalsUp(x, 2)
}

// percent is a share, rounded up.
func percent(x float64) string {
	if math.IsInf(x, 1) {
		return "∞"
	}
	return num.FormatReadUp(100*x, 3) + " %"
}

// percentDown is a share, rounded down.
func percentDown(x float64) string { return num.FormatReadDown(100*x, 3) + " %" }

// count is a whole number with its thousands apart.
func count(n any) template.HTML {
	return template.HTML(fmt.Sprintf(`<data value="%s">%s</data>`, template.HTMLEscapeString(fmt.Sprint(n)),
		template.HTMLEscapeString(thousands(n))))
}

// thousands is count as text, for what the page itself has counted.
func thousands(n any) string {
	shown := fmt.Sprint(n)
	for i := len(shown) - 3; i > 0; i -= 3 {
		shown = shown[:i] + "\u202f" + shown[i:]
	}
	return shown
}

// when is a time in UTC, to the second; "never" if there is none.
func when(t *timestamppb.Timestamp) template.HTML {
	if t == nil {
		return "never"
	}
	at := t.AsTime().UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, at.Format(time.RFC3339Nano),
		at.Format("2 Jan 2006, 15:04:05")+" UTC"))
}

// whenShort is when to the minute, for a table; the whole time is in the page's source.
func whenShort(t *timestamppb.Timestamp) template.HTML {
	if t == nil {
		return "never"
	}
	at := t.AsTime().UTC()
	return template.HTML(fmt.Sprintf(`<time class="short" datetime="%s">%s</time>`, at.Format(time.RFC3339Nano),
		at.Format("2 Jan 2006, 15:04")))
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	s = capital(plain.Text(s))
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?…") {
		s += "."
	}
	return s
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// covers says in a few words what a guaranteed ε is of.
var covers = map[string]string{
	"descriptive": "for what was charged or is reserved",
	"plan":        "for the whole plan",
	"filter":      "for the whole budget, however it is spent",
}

// flagWords say what a flag of the overview means.
var flagWords = map[string]string{
	"refunded":      "Something that was charged was given back, because people said that it was never released.",
	"freed":         "Somebody's reservation was given back by another person.",
	"raised":        "The budget was made larger after it had been set.",
	"restored":      "It was restored from a backup, or a failover of the database lost entries of it.",
	"unreconciled":  "It has lost entries, and nobody has said yet what was lost.",
	"loss accepted": "Charges were lost by a restore, and people accepted that they are not counted.",
	"adopted":       "Its dataset was registered after it was created.",
	"reserved":      "A part of the budget is set aside for work that has not finished.",
	"proposed":      "Something waits for another person's approval.",
}
