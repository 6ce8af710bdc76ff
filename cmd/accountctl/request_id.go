package main

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/client"
)

const requestIDHelp = `Each write has a request ID. Sent again under the same ID, the same write is done
once and gets its first receipt; without --request-id a random one is made. If it
is unknown whether a write was done, the error names the ID that resumes it.`

// requestIDFlag adds --request-id.
func requestIDFlag(c *cobra.Command) *string {
	return c.Flags().String("request-id", "", "your key of this one write, [A-Za-z0-9._-]{1,128}; random unless given")
}

// requestID returns what was given, or a random one.
func requestID(c *cobra.Command, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if c.Flags().Changed("request-id") {
		return "", usage(c, "--request-id: \"\"; allowed: 1 to 128 bytes of [A-Za-z0-9._-]")
	}
	id, err := uuid.NewRandom()
	return id.String(), err
}

// resumable adds to an error of unknown outcome how to find out.
func resumable(err error, id string) error {
	var e *client.Error
	if errors.As(err, &e) && (e.Unknown || e.Code == codes.Aborted) {
		return fmt.Errorf("%w; it is unknown whether this was written: repeat the command with --request-id %s", err, id)
	}
	return err
}
