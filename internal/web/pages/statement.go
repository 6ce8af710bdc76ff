// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bytes"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// statementBody is a statement as it is printed.
type statementBody struct {
	Text    template.HTML
	Command string // what writes the same
	// Markdown is the text as it is copied, and Files are links to it.
	Markdown string
	Files    []link
	Usual    bool // no budget names the δ with which it opens
}

// markdown makes HTML of a statement's Markdown. It passes no HTML on, and no link that runs
// anything: whatever others wrote stays text (goldmark's safe mode, which is its default).
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// stated is the statement of the ledger, or of the dataset, that an address names.
func (s *site) stated(r *http.Request) (*pb.Statement, error) {
	name, err := r.URL.Query().Get("name"), error(nil)
	if id := r.URL.Query().Get("id"); id != "" {
		if name, err = wire.DatasetName("id", id); err != nil {
			err = status.Error(codes.InvalidArgument, err.Error())
		}
	} else if name == "" {
		name, err = needed(r, "name", "ledger")
	}
	if err != nil {
		return nil, err
	}
	answer, err := s.api.GetStatement(r.Context(), &pb.GetStatementRequest{Name: name})
	return answer.GetStatement(), err
}

func (s *site) statement(r *http.Request) (*page, error) {
	stated, err := s.stated(r)
	if err != nil {
		return nil, err
	}
	name, command, id := stated.GetLedger().GetName(), "statement ", stated.GetDataset().GetSpec().GetId()
	files := filesOf("name", name, "Markdown", "statement.md", "JSON", "statement.json")
	made := &page{Title: "Statement of " + name, Section: "overview", Ledger: name}
	if id != "" {
		name, command = id, "dataset statement "
		made = &page{Title: "Statement of dataset " + id, Section: "overview"}
		files = filesOf("id", id, "Markdown", "statement.md", "JSON", "statement.json", "its ledgers as CSV",
			"statement.csv")
	}
	b, err := printed(stated.GetMarkdown(), "accountctl "+command+name)
	b.Files = files
	b.Usual = id == "" && !slices.ContainsFunc(stated.GetLedger().GetSpec().GetBudgets(),
		func(b *pb.Budget) bool { return b.GetDelta() > 0 })
	made.Body = b
	return made, err
}

func printed(markdownText, command string) (statementBody, error) {
	var b bytes.Buffer
	err := markdown.Convert([]byte(markdownText), &b)
	// For screen readers.
	text := strings.ReplaceAll(b.String(), "<th></th>\n<th></th>", "<th>What</th>\n<th>Value</th>")
	return statementBody{Text: template.HTML(text), Command: command, Markdown: markdownText}, err
}
