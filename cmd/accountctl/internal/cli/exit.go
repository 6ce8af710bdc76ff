package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/mechanism"
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

// Usage is a UsageError that points at the command's help.
func Usage(c *cobra.Command, format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...) + "; see " + c.CommandPath() + " --help"}
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

// Describe is the error in one line, without gRPC's decoration.
func Describe(err error, server string) string {
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
	if ExitStatus(err) == exitNoAnswer {
		message = "no answer from " + server + ": " + message
	}
	if codeOf(err) == codes.Canceled {
		message = "interrupted: " + message
	}
	return Clean(strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}
