// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Exit statuses; scripts depend on them.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitUsage    = 2 // flags or files are wrong
	exitRefused  = 3 // the ledger refused: FAILED_PRECONDITION, RESOURCE_EXHAUSTED
	exitNoAnswer = 4 // UNAVAILABLE or DEADLINE_EXCEEDED
)

// UsageError says that flags, arguments or files are wrong.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return e.message }

// Wrong is a UsageError with a message that says what to do.
func Wrong(message string) error { return &UsageError{message} }

// Usage is a UsageError that shows a line of the command that works, and points at its help.
func Usage(c *cobra.Command, format string, args ...any) error {
	return UsageOf(c, "", format, args...)
}

// UsageOf is Usage, with a line that has a part, such as a flag, if the command has such an example.
func UsageOf(c *cobra.Command, part, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if !strings.Contains(message, "such as: ") && !c.HasSubCommands() && c.Example != "" {
		message += "; such as: " + exampleOf(c, part)
	}
	return &UsageError{message + "; see " + c.CommandPath() + " --help"}
}

// exampleOf is the first of a command's examples that has a part, or else its first one.
func exampleOf(c *cobra.Command, part string) string {
	lines := strings.Split(c.Example, "\n")
	for _, line := range lines {
		if strings.Contains(line+" ", part) {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(lines[0])
}

// BadFile is a UsageError about a file's content.
func BadFile(name string, err error) error {
	return &UsageError{name + ": " + err.Error()}
}

// ExitStatus maps an error to the exit status.
func ExitStatus(err error) int {
	if err == nil {
		return ExitDone
	}
	var (
		bad       *UsageError
		invalid   *wire.InvalidError
		parameter *mechanism.ParameterError
		adjacency *mechanism.AdjacencyError
	)
	switch {
	case errors.As(err, &bad), errors.As(err, &invalid), errors.As(err, &parameter), errors.As(err, &adjacency),
		errors.Is(err, client.ErrTooLarge):
		return ExitUsage
	}
	switch codeOf(err) {
	case codes.InvalidArgument:
		return ExitUsage
	case codes.FailedPrecondition, codes.ResourceExhausted:
		return exitRefused
	case codes.Unavailable, codes.DeadlineExceeded:
		return exitNoAnswer
	}
	return ExitFailed
}

// codeOf is the gRPC code of an error, through any wrapping.
func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return status.Code(err)
}

// NoDaemon is what to do where nobody listens.
const NoDaemon = "start accountantd, or say with --server (or ACCOUNTANT_SERVER) and --tls-… where and how it listens"

// Describe is the error of a command in one line, without gRPC's decoration. The command may be nil.
func Describe(err error, server string, c *cobra.Command) string {
	message := err.Error()
	var remote interface{ GRPCStatus() *status.Status }
	if errors.As(err, &remote) {
		// Keep what wraps the status, drop the status's own prefix.
		message = strings.Replace(message, remote.(error).Error(), remote.GRPCStatus().Message(), 1)
	}
	for decoration, advice := range map[string]string{
		`desc = "transport: Error while dialing: `:             "; " + NoDaemon,
		`desc = "transport: authentication handshake failed: `: "",
	} {
		if _, cause, ok := strings.Cut(message, decoration); ok {
			message = strings.Replace(cause, `"`, advice, 1)
		}
	}
	if ExitStatus(err) == ExitUsage {
		message = inFlags(c, message)
	}
	message = budgetField().ReplaceAllString(spelling.Refusal(message), "--budget, $1: ")
	var daemon *client.Error
	switch {
	case ExitStatus(err) != exitNoAnswer:
	case errors.As(err, &daemon) && daemon.RetryAfter > 0: // which only a daemon says
		message = "not now, says " + server + ": " + message
	default:
		message = "no answer from " + server + ": " + message
	}
	if codeOf(err) == codes.Canceled {
		rest := strings.Replace(message, context.Canceled.Error(), "", 1)
		rest = strings.TrimSuffix(rest, " while waiting for connections to become ready") // gRPC's words
		message = strings.TrimRight("interrupted: "+rest, ": ")
	}
	return Clean(strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

// Field is, as an annotation of a flag, the name of the field of the API that the flag sets.
const Field = "field"

// inFlags says in the words of the command line which of the API's fields is wrong, where a
// message begins with the field.
func inFlags(c *cobra.Command, message string) string {
	field, rest, found := strings.Cut(message, ": ")
	if !found {
		return message
	}
	for _, f := range fieldFlags() {
		if at := f.field.FindStringSubmatchIndex(field); at != nil {
			return string(f.field.ExpandString(nil, f.flag, field, at)) + ": " + rest
		}
	}
	inside, name, deep := strings.Cut(field, ".") // of the action, or the specification, in the request
	if !deep {
		name = field
	}
	name, _, _ = strings.Cut(name, "[")
	if c != nil && inside != "workload" { // which may be a file's
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(f.Annotations[Field], name) {
				message = "--" + f.Name + ": " + rest
			}
		})
	}
	return message
}

// budgetField is a value of a budget in a message of any kind. The API numbers the budgets.
var budgetField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:spec\.)?budgets\[\d+\]\.(\w+): `)
})

// fieldFlags are the names on a command line of fields that no flag sets by itself.
var fieldFlags = sync.OnceValue(func() []fieldFlag {
	return []fieldFlag{
		{regexp.MustCompile(`^(spec\.)?name$`), "NAME"},
		{regexp.MustCompile(`^key$`), "--request-id"},
		{regexp.MustCompile(`^(?:observe\.)?canaries\.(\w+)$`), "--$1"},
		{regexp.MustCompile(`^server$`), "--server"},
		{regexp.MustCompile(`^spec\.budgets\[\d+\]\.(\w+)$`), "--budget, $1"},
		{regexp.MustCompile(`^set(\.ledgers(\[\d+\])?)?$`), "NAME"},
		{regexp.MustCompile(`^set\.range\.prefix$`), "--prefix"},
		{regexp.MustCompile(`^set\.range\.first$`), "--from"},
		{regexp.MustCompile(`^set\.range\.last$`), "--to"},
		{regexp.MustCompile(`^start_(position|time)$`), "--from"},
		{regexp.MustCompile(`^end_(position|time)$`), "--to"},
		{regexp.MustCompile(`^label_key$`), "--label"},
		{regexp.MustCompile(`^acknowledge\.warning$`), "WARNING"},
		{regexp.MustCompile(`^observe\.reason$`), "--reason"},
	}
})

type fieldFlag struct {
	field *regexp.Regexp
	flag  string
}
