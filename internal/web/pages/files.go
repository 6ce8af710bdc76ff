// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bufio"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/spelling/sheet"
	"github.com/dpaccountant/accountant/internal/statement"
	"github.com/dpaccountant/accountant/internal/wire/questions"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// These bound a file; what is longer is for accountctl, which has no bound.
const (
	fileRows    = 20_000
	fileEntries = 100_000
	filePoints  = 400
	entriesCall = 1000
)

// file is what a page shows, to be kept. What it cannot be written as is nil.
type file struct {
	name     string // without its ending; about what it is
	message  proto.Message
	table    *table
	markdown func() string
	figure   *figure.Figure
	// entries come one after the other instead of as a message: a ledger may have many.
	entries iter.Seq2[*pb.Entry, error]
}

// table has rows that come one after the other.
type table struct {
	head []string
	rows iter.Seq2[[]string, error]
}

// types are the endings of files and what HTTP calls them.
var types = map[string]string{"csv": "text/csv", "json": "application/json", "md": "text/markdown",
	"svg": "image/svg+xml"}

// file serves /file/WHAT.ENDING: what a page shows, by the same calls and so with the same rights.
func (s *site) file(w http.ResponseWriter, r *http.Request) {
	what, ending, _ := strings.Cut(r.PathValue("file"), ".")
	find, known := map[string]func(*http.Request) (file, error){
		"overview": s.overviewFile, "entries": s.entriesFile, "history": s.historyFile, "statement": s.statementFile,
		"budget": s.budgetFile, "curve": s.curveFile, "trade-off": s.tradeOffFile,
		"spending": s.spendingFile,
	}[what]
	err := checkAddress(r)
	if err == nil && (!known || types[ending] == "") {
		err = noFile(r)
	}
	var f file
	if err == nil {
		f, err = find(r)
	}
	if err == nil && f.writes(ending) == nil {
		err = noFile(r)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", types[ending]+"; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, fileName(what, f.name), ending))
	out := bufio.NewWriterSize(w, 1<<16)
	if f.writes(ending)(out) != nil || out.Flush() != nil {
		// What was sent may look whole, so the connection breaks, and the browser says that the file is not.
		panic(http.ErrAbortHandler)
	}
}

func noFile(r *http.Request) error {
	return status.Errorf(codes.NotFound, "there is no file %q; allowed: those to which the pages lead",
		r.PathValue("file"))
}

// fileName is a name for a file that no header and no file system takes for anything else.
func fileName(what, about string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '-'
	}, about)
	if safe = safe[:min(len(safe), 80)]; safe == "" {
		return what
	}
	return safe + "-" + what
}

// writes returns what writes the file as an ending says; nil if it cannot be written so.
func (f file) writes(ending string) func(*bufio.Writer) error {
	switch {
	case ending == "svg" && f.figure != nil:
		return func(w *bufio.Writer) error { _, err := w.Write(f.figure.SVG()); return err }
	case ending == "csv" && f.table != nil:
		return f.table.csv
	case ending == "md" && f.markdown != nil:
		return func(w *bufio.Writer) error { _, err := w.WriteString(f.markdown()); return err }
	case ending == "md" && f.table != nil:
		return f.table.markdown
	case ending == "json" && f.entries != nil:
		return f.json
	case ending == "json" && f.message != nil:
		return func(w *bufio.Writer) error {
			b, err := wirejson.Marshal(f.message)
			_, _ = w.Write(append(b, '\n')) // Flush says whether that failed
			return err
		}
	}
	return nil
}

// csv begins with the mark by which spreadsheets know UTF-8.
func (t *table) csv(w *bufio.Writer) error {
	_, _ = w.WriteString("\ufeff")
	c := sheet.NewCSV(w, t.head)
	for row, err := range t.rows {
		if err != nil {
			return err
		}
		_ = c.Row(row) // the writer keeps the error
	}
	return c.Flush()
}

func (t *table) markdown(w *bufio.Writer) error {
	line := func(cells []string) {
		for _, cell := range cells {
			_, _ = w.WriteString("| " + statement.Escape(cell) + " ")
		}
		_, _ = w.WriteString("|\n")
	}
	line(t.head)
	_, _ = w.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
	for row, err := range t.rows {
		if err != nil {
			return err
		}
		line(row)
	}
	return nil
}

// json writes the entries as ListEntriesResponse has them.
func (f file) json(w *bufio.Writer) error {
	separator := "{\"entries\":[\n"
	for e, err := range f.entries {
		if err != nil {
			return err
		}
		b, err := wirejson.Marshal(e)
		if err != nil {
			return err
		}
		_, _ = w.WriteString(separator)
		_, _ = w.Write(b)
		separator = ",\n"
	}
	if separator[0] == '{' {
		_, _ = w.WriteString(separator)
	}
	_, err := w.WriteString("]}\n")
	return err
}

// all yields rows that are there already.
func all[V any](list []V, cells func(V) []string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for _, v := range list {
			if !yield(cells(v), nil) {
				return
			}
		}
	}
}

func (s *site) overviewFile(r *http.Request) (file, error) {
	l, err := s.listed(r, fileRows, 0)
	switch {
	case err != nil:
		return file{}, err
	case l.Part:
		return file{}, status.Errorf(codes.InvalidArgument, "more than %d rows match; allowed: a search that finds "+
			"fewer, or accountctl overview --output csv", fileRows)
	}
	return file{message: &pb.QueryOverviewResponse{Rows: l.All}, markdown: l.markdown,
		table: &table{sheet.OverviewHead(), all(l.All, sheet.Overview)}}, nil
}

// markdown is a table for documents, with the columns of the page and its roundings.
func (l listed) markdown() string {
	var b strings.Builder
	var lost questions.Uncounted
	for _, r := range l.All {
		lost.AddRow(r)
	}
	for _, note := range lost.Notes() {
		fmt.Fprintf(&b, "**%s**\n\n", statement.Escape(note))
	}
	b.WriteString("| name | dataset | owner | used | left | ε spent at most | at δ | last activity | state |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range l.All {
		used, left, spent, last := "no budget", "", "", "never"
		if r.Share != nil {
			used, left = percent(r.GetShare()), leftOf(r.GetShare())
		}
		if r.EpsilonSpent != nil {
			spent = up(r.GetEpsilonSpent())
		}
		if r.GetProblem() != "" {
			used = r.GetProblem()
		}
		if r.LastTime != nil {
			last = spelling.Time(r.GetLastTime())
		}
		cells := []string{r.GetName(), r.GetDatasetId(), ownersOf(r), used, left, spent, spelling.Exact(r.GetDelta()),
			last, strings.Join(append([]string{r.GetState()}, r.GetFlags()...), ", ")}
		for _, cell := range cells {
			fmt.Fprintf(&b, "| %s ", statement.Escape(cell))
		}
		b.WriteString("|\n")
	}
	b.WriteString("\nε spent holds only if the parameters and the number of steps were fixed before any result was " +
		"seen. A sum of ε over ledgers means nothing unless all are about the same data.\n")
	return b.String()
}

func (s *site) historyFile(r *http.Request) (file, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return file{}, err
	}
	part, err := partOf(r)
	if err != nil {
		return file{}, err
	}
	answer, err := s.api.QueryHistory(r.Context(), part.history(name, filePoints))
	if err != nil {
		return file{}, err
	}
	return file{name: name, message: answer, table: &table{sheet.HistoryHead(answer), all(answer.GetPoints(),
		func(x *pb.HistoryPoint) []string { return sheet.History(answer, x) })}}, nil
}

func (s *site) statementFile(r *http.Request) (file, error) {
	stated, err := s.stated(r)
	if err != nil {
		return file{}, err
	}
	f := file{name: stated.GetLedger().GetName(), message: stated, markdown: stated.GetMarkdown}
	if d := stated.GetDataset(); d != nil {
		f.name = d.GetSpec().GetId()
		f.table = &table{sheet.DatasetLedgerHead(), all(stated.GetLedgers(), sheet.DatasetLedger)}
	}
	return f, nil
}

func (s *site) budgetFile(r *http.Request) (file, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return file{}, err
	}
	part, err := partOf(r)
	if err != nil {
		return file{}, err
	}
	now, err := s.now(r.Context(), name, part, nil)
	if err == nil && now.Reading != nil {
		err = status.Errorf(codes.Unavailable, "the daemon is still reading this ledger's entries: %d of %d are read",
			now.Reading.GetEntriesRead(), now.Reading.GetEntries())
	}
	if err != nil {
		return file{}, err
	}
	return file{name: name, figure: now.Figure}, nil
}

func (s *site) curveFile(r *http.Request) (file, error) {
	made, err := s.curves(r)
	if err != nil {
		return file{}, err
	}
	return file{name: made.Ledger, figure: made.Body.(curvesBody).Curve}, nil
}

func (s *site) tradeOffFile(r *http.Request) (file, error) {
	made, err := s.curves(r)
	if err != nil {
		return file{}, err
	}
	return file{name: made.Ledger, figure: made.Body.(curvesBody).TradeOff}, nil
}

// entriesFile is all entries of a ledger up to its newest one now. The first ones are asked for before anything is
// written, so whoever may not see them is told.
func (s *site) entriesFile(r *http.Request) (file, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return file{}, err
	}
	got, err := s.api.GetLedger(r.Context(), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		return file{}, err
	}
	last := got.GetLedger().GetPosition()
	if last > fileEntries {
		return file{}, status.Errorf(codes.InvalidArgument, "the ledger has %d entries; allowed: %d in a file of this "+
			"page; accountctl ledger entries writes them all", last, fileEntries)
	}
	ask := func(token string) (*pb.ListEntriesResponse, error) {
		if last == 0 { // then nothing bounds the list
			last = 1
		}
		return s.api.ListEntries(r.Context(), &pb.ListEntriesRequest{Ledger: name, EndPosition: last,
			PageSize: entriesCall, PageToken: token})
	}
	first, err := ask("")
	if err != nil {
		return file{}, err
	}
	entries := func(yield func(*pb.Entry, error) bool) {
		for answer := first; ; {
			for _, e := range answer.GetEntries() {
				if !yield(e, nil) {
					return
				}
			}
			if answer.GetNextPageToken() == "" {
				return
			}
			var err error
			if answer, err = ask(answer.GetNextPageToken()); err != nil {
				yield(nil, err)
				return
			}
		}
	}
	return file{name: name, entries: entries, table: &table{sheet.EntryHead(),
		func(yield func([]string, error) bool) {
			for e, err := range entries {
				var row []string
				if err == nil {
					row, err = sheet.Entry(e)
				}
				if !yield(row, err) {
					return
				}
			}
		}}}, nil
}
