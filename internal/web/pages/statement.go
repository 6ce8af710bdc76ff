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

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
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

func (s *site) statement(r *http.Request) (*page, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return nil, err
	}
	answer, err := s.api.GetStatement(r.Context(), &pb.GetStatementRequest{Name: name})
	if err != nil {
		return nil, err
	}
	b, err := printed(answer.GetStatement().GetMarkdown(), "accountctl statement "+name)
	b.Files = filesOf("name", name, "Markdown", "statement.md", "JSON", "statement.json")
	b.Usual = !slices.ContainsFunc(answer.GetStatement().GetLedger().GetSpec().GetBudgets(),
		func(b *pb.Budget) bool { return b.GetDelta() > 0 })
	return &page{Title: "Statement of " + name, Section: "overview", Ledger: name, Body: b}, err
}

func (s *site) dataset(r *http.Request) (*page, error) {
	id, err := needed(r, "id", "dataset")
	if err != nil {
		return nil, err
	}
	answer, err := s.api.GetDatasetStatement(r.Context(), &pb.GetDatasetStatementRequest{Id: id})
	if err != nil {
		return nil, err
	}
	b, err := printed(answer.GetStatement().GetMarkdown(), "accountctl dataset statement "+id)
	b.Files = filesOf("id", id, "Markdown", "dataset-statement.md", "JSON", "dataset-statement.json",
		"its ledgers as CSV", "dataset-statement.csv")
	return &page{Title: "Statement of dataset " + id, Section: "overview", Body: b}, err
}

func printed(markdownText, command string) (statementBody, error) {
	var b bytes.Buffer
	err := markdown.Convert([]byte(markdownText), &b)
	// For screen readers.
	text := strings.ReplaceAll(b.String(), "<th></th>\n<th></th>", "<th>What</th>\n<th>Value</th>")
	return statementBody{Text: template.HTML(text), Command: command, Markdown: markdownText}, err
}
