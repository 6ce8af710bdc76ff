// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
)

// longestQuestion bounds a question, in bytes; the largest workload takes less.
const longestQuestion = 64 << 20

func answer(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "answer",
		Short: "Answer questions about workloads from standard input, for programs",
		Long: `Answer questions about workloads that come on standard input, one after the other,
until the input ends. No daemon is asked. A program that has many questions, such
as the Python package, keeps one such process and saves its start.

A question is the message Asked of the API (proto/accountant/v1/answer.proto): the
name of a method, its request, and how long the answer may take. The methods are
` + strings.Join(slices.Sorted(maps.Keys(methods)), ", ") + `. An answer is the
message Answered. Before each message stands its length as a varint, as protobuf's
libraries write messages one after the other. When the input ends, so does the
question that is being answered.`,
		Example: "  accountctl answer < questions > answers",
		Args:    cli.Arguments(),
		RunE:    func(c *cobra.Command, _ []string) error { return answerAll(c.Context(), p.In, p.Out) },
	}
}

// flusher is where answers go.
type flusher interface {
	io.Writer
	Flush() error
}

// answerAll answers until the input ends, which also ends the question that is being answered.
func answerAll(ctx context.Context, in io.Reader, out flusher) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	questions, ended := make(chan *accountantv1.Asked), error(nil)
	go func() {
		defer close(questions)
		defer cancel()
		from, bounded := bufio.NewReader(in), protodelim.UnmarshalOptions{MaxSize: longestQuestion}
		for {
			question := &accountantv1.Asked{}
			if ended = bounded.UnmarshalFrom(from, question); ended != nil {
				return
			}
			select {
			case questions <- question:
			case <-ctx.Done():
				return
			}
		}
	}()
	for question := range questions {
		answered := answerOne(ctx, question)
		if ctx.Err() != nil {
			continue // nobody waits for it any more
		}
		if _, err := protodelim.MarshalTo(out, answered); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if errors.Is(ended, io.EOF) {
		return nil
	}
	return cli.Wrong(fmt.Sprintf("a question that cannot be read: %v; allowed: messages of at most %d bytes; see "+
		"accountctl answer --help", ended, longestQuestion))
}

// answerOne answers a question, or says why not.
func answerOne(ctx context.Context, question *accountantv1.Asked) *accountantv1.Answered {
	method := methods[question.GetMethod()]
	if method == nil {
		return &accountantv1.Answered{Code: uint32(codes.InvalidArgument), Error: fmt.Sprintf("method: %q; allowed: %s",
			question.GetMethod(), strings.Join(slices.Sorted(maps.Keys(methods)), ", "))}
	}
	if seconds := question.GetSeconds(); seconds > 0 && seconds < math.MaxInt32 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
		defer cancel()
	}
	answer, err := method(question.GetRequest(), func() bool { return ctx.Err() != nil })
	code := codes.InvalidArgument
	switch {
	case err == nil:
		return &accountantv1.Answered{Response: answer}
	case errors.Is(err, accountant.ErrStopped):
		code = codes.DeadlineExceeded
		err = errors.New("the answer takes longer than it was given; ask with a longer deadline")
	case cli.ExitStatus(err) == cli.ExitFailed:
		code = codes.Internal
	}
	return &accountantv1.Answered{Code: uint32(code), Error: err.Error()}
}

// methods answer requests in their binary form, as the daemon and the other commands do.
var methods = map[string]func(request []byte, stop func() bool) ([]byte, error){
	"QueryPrivacy": method(func(r *accountantv1.QueryPrivacyRequest, stop func() bool) ([]byte, error) {
		return marshal(workloads.Privacy(r, accountant.Ask, stop))
	}),
	"QueryPrivacyCurve": method(func(r *accountantv1.QueryPrivacyCurveRequest, stop func() bool) ([]byte, error) {
		return marshal(workloads.Curve(r, stop))
	}),
	"Calibrate": method(func(r *accountantv1.CalibrateRequest, stop func() bool) ([]byte, error) {
		return marshal(workloads.Calibrate(r, stop))
	}),
	"Explain": method(func(r *accountantv1.QueryPrivacyRequest, stop func() bool) ([]byte, error) {
		e, err := explain(r, stop)
		if err != nil {
			return nil, err
		}
		return json.Marshal(e.object())
	}),
}

// method reads a request, which must not be about a ledger: a daemon keeps those.
func method[Q any, M interface {
	*Q
	proto.Message
	GetLedger() string
}](answer func(M, func() bool) ([]byte, error)) func([]byte, func() bool) ([]byte, error) {
	return func(request []byte, stop func() bool) ([]byte, error) {
		r := M(new(Q))
		if err := proto.Unmarshal(request, r); err != nil {
			return nil, cli.Wrong("request: no message of the API: " + err.Error())
		}
		if name := r.GetLedger(); name != "" {
			return nil, cli.Wrong(fmt.Sprintf("ledger: %q; allowed: a workload, since no daemon is asked", name))
		}
		return answer(r, stop)
	}
}

func marshal[A proto.Message](answer A, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
}
