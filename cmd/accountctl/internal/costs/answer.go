// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/guards"
	"github.com/dpaccountant/accountant/internal/statement"
	"github.com/dpaccountant/accountant/internal/theorem"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// longestQuestion bounds a question's frame, in bytes; the largest workload takes less.
const longestQuestion = 64 << 20

func answer(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "answer",
		Short: "Answer questions about workloads from standard input, for programs",
		Long: `Answer questions about workloads that come on standard input, one after the other,
until the input ends. No daemon is asked. A program that has many questions, such
as the Python package, keeps one such process and saves its start.

A question is the number of bytes that follow (4 bytes, the most significant
first); one letter: q for QueryPrivacyRequest, c for QueryPrivacyCurveRequest,
s for CalibrateRequest, e for QueryPrivacyRequest explained, t for a Statement that
is to be written out, d for a DatasetSpec whose budgets are to be given guards; the
seconds that the answer may take (8 bytes, a double, the most significant first; 0: no
bound); and the message of the API in its binary form.

An answer is the number of bytes that follow; one byte, 0 or the number of a gRPC
status code; and the message of the API, or for e the JSON of compute --explain,
for t the Markdown of the command statement, for d the DatasetSpec with its guards, or after a status code the text of the error. When the input ends, so does the question that is being answered.`,
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
	questions, ended := make(chan []byte), error(nil)
	go func() {
		defer close(questions)
		defer cancel()
		for {
			question, err := readFrame(in)
			if err != nil {
				ended = err
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
		code, text := answerOne(ctx, question)
		if ctx.Err() != nil {
			continue // nobody waits for it any more
		}
		head := binary.BigEndian.AppendUint32(nil, uint32(1+len(text)))
		if _, err := out.Write(append(append(head, byte(code)), text...)); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if errors.Is(ended, io.EOF) {
		return nil
	}
	return ended
}

// readFrame returns what follows the next length, or io.EOF where the input ends before one.
func readFrame(in io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > longestQuestion {
		return nil, cli.Wrong(fmt.Sprintf("a question of %d bytes; allowed: at most %d; see accountctl answer --help",
			n, longestQuestion))
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(in, frame)
	return frame, err
}

// answerOne returns what goes into an answer's frame.
func answerOne(ctx context.Context, question []byte) (codes.Code, []byte) {
	const head = 9 // the letter and the seconds
	if len(question) < head {
		return codes.InvalidArgument, []byte(fmt.Sprintf(
			"a question of %d bytes; allowed: at least %d; see accountctl answer --help", len(question), head))
	}
	if seconds := math.Float64frombits(binary.BigEndian.Uint64(question[1:])); seconds > 0 && seconds < math.MaxInt32 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
		defer cancel()
	}
	answer, err := answerKind(question[0], question[head:], func() bool { return ctx.Err() != nil })
	switch {
	case err == nil:
		return codes.OK, answer
	case errors.Is(err, accountant.ErrStopped):
		return codes.DeadlineExceeded, []byte("the answer takes longer than it was given; ask with a longer deadline")
	case cli.ExitStatus(err) == cli.ExitFailed:
		return codes.Internal, []byte(err.Error())
	}
	return codes.InvalidArgument, []byte(err.Error())
}

// answerKind answers a question of one kind, as the daemon and the other commands do.
func answerKind(kind byte, content []byte, stop func() bool) ([]byte, error) {
	switch kind {
	case 'q', 'e':
		r := &accountantv1.QueryPrivacyRequest{}
		if err := read(content, r, r.GetLedger); err != nil {
			return nil, err
		}
		q, err := questions.ToQuestion(r)
		if err != nil {
			return nil, err
		}
		q.Question.Stop = stop
		if kind == 'e' {
			answer, bounds, err := theorem.Compare(q.Workload, q.Question)
			if err != nil {
				return nil, err
			}
			warnings := questions.Warnings([]float64{answer.Delta},
				workloads.Mechanisms(r.GetWorkload().GetEvents()), nil)
			return json.Marshal(explanation{q.Question, answer, bounds, warnings, q.Workload.Assumptions()}.object())
		}
		answer, err := accountant.Ask(q.Workload, q.Question)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(questions.FromAnswer(q.Question, answer, questions.Standing{Mechanisms: q.Workload}))
	case 'c':
		r := &accountantv1.QueryPrivacyCurveRequest{}
		if err := read(content, r, r.GetLedger); err != nil {
			return nil, err
		}
		q, err := questions.ToCurveQuestion(r)
		if err != nil {
			return nil, err
		}
		q.Question.Stop = stop
		curve, err := accountant.AskCurve(q.Workload, q.Question)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(questions.FromCurve(curve, questions.Standing{Mechanisms: q.Workload}))
	case 's':
		r := &accountantv1.CalibrateRequest{}
		if err := read(content, r, r.GetLedger); err != nil {
			return nil, err
		}
		q, err := questions.ToCalibration(r)
		if err != nil {
			return nil, err
		}
		q.Calibration.Stop = stop
		found, err := accountant.Calibrate(q.Calibration)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(questions.FromCalibrated(q.Calibration, found, questions.Standing{}))
	case 't':
		s := &accountantv1.Statement{}
		if err := read(content, s, func() string { return "" }); err != nil {
			return nil, err
		}
		return []byte(statement.Markdown(s)), nil
	case 'd':
		d := &accountantv1.DatasetSpec{}
		if err := read(content, d, func() string { return "" }); err != nil {
			return nil, err
		}
		if _, err := guards.ForDataset(d, stop); err != nil {
			return nil, err
		}
		return proto.Marshal(d)
	}
	return nil, cli.Wrong(fmt.Sprintf("a question of the kind %q; allowed: q, c, s, e, t or d; see accountctl "+
		"answer --help", kind))
}

// read reads a request, which must not be about a ledger: a daemon keeps those.
func read(content []byte, r proto.Message, ledger func() string) error {
	if err := proto.Unmarshal(content, r); err != nil {
		return cli.Wrong("the question is not a message of the API: " + err.Error())
	}
	if name := ledger(); name != "" {
		return cli.Wrong(fmt.Sprintf("ledger: %q; allowed: a workload, since no daemon is asked", name))
	}
	return nil
}
