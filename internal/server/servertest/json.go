// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// JSON is the API as JSON over HTTP, as a connection for the generated clients: so that a test can ask both
// doors the same. It has the methods that answer once and those that stream their answers.
type JSON struct {
	URL    string // of the HTTP port
	Client *http.Client
	Header http.Header // of every request; nil for none
}

// Invoke implements grpc.ClientConnInterface.
func (j JSON) Invoke(ctx context.Context, method string, request, answer any, _ ...grpc.CallOption) error {
	body, err := j.post(ctx, method, request)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return wirejson.Unmarshal(data, answer.(proto.Message))
}

func (j JSON) post(ctx context.Context, method string, request any) (io.ReadCloser, error) {
	data, err := wirejson.Marshal(request.(proto.Message))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, j.URL+method, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if j.Header != nil {
		r.Header = j.Header.Clone()
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := j.Client.Do(r)
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		defer func() { _ = a.Body.Close() }()
		data, err := io.ReadAll(a.Body)
		if err != nil {
			return nil, err
		}
		return nil, failed(data)
	}
	return a.Body, nil
}

// failed returns the error that JSON says.
func failed(data []byte) error {
	var f struct {
		Error *struct {
			Code            int
			Status, Message string
		}
	}
	if err := json.Unmarshal(data, &f); err != nil || f.Error == nil {
		return fmt.Errorf("%q is no error as JSON: %w", data, err)
	}
	return status.Error(codes.Code(f.Error.Code), f.Error.Message)
}

// NewStream implements grpc.ClientConnInterface.
func (j JSON) NewStream(ctx context.Context, d *grpc.StreamDesc, method string,
	_ ...grpc.CallOption) (grpc.ClientStream, error) {
	if d.ClientStreams {
		return nil, fmt.Errorf("%s streams its requests", method)
	}
	return &lines{j: j, ctx: ctx, method: method}, nil
}

// lines is a stream of answers.
type lines struct {
	grpc.ClientStream
	j      JSON
	ctx    context.Context
	method string
	body   *bufio.Scanner
}

// SendMsg implements grpc.ClientStream.
func (l *lines) SendMsg(request any) error {
	body, err := l.j.post(l.ctx, l.method, request)
	if err != nil {
		return err
	}
	context.AfterFunc(l.ctx, func() { _ = body.Close() })
	l.body = bufio.NewScanner(body)
	l.body.Buffer(nil, 64<<20)
	return nil
}

// CloseSend implements grpc.ClientStream.
func (l *lines) CloseSend() error { return nil }

// RecvMsg implements grpc.ClientStream.
func (l *lines) RecvMsg(answer any) error {
	if !l.body.Scan() {
		return errors.Join(l.body.Err(), io.EOF)
	}
	var line struct{ Result json.RawMessage }
	if err := json.Unmarshal(l.body.Bytes(), &line); err != nil {
		return err
	}
	if line.Result == nil {
		return failed(l.body.Bytes())
	}
	return wirejson.Unmarshal(line.Result, answer.(proto.Message))
}
