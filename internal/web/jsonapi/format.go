// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/dpaccountant/accountant/internal/web/bounds"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// format reads and writes messages as the commands do (package wirejson).
type format struct{}

// Marshal implements runtime.Marshaler. Besides messages the gateway writes the lines of a stream:
// {"result": MESSAGE} and {"error": STATUS}.
func (format) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case proto.Message:
		b, err := wirejson.Marshal(v)
		return append(b, '\n'), err
	case map[string]any:
		m, ok := v["result"].(proto.Message)
		if !ok {
			break
		}
		b, err := wirejson.Marshal(m)
		if err != nil {
			return nil, err
		}
		line := bytes.NewBufferString(`{"result":`)
		err = json.Compact(line, b)
		return append(line.Bytes(), '}'), err
	case map[string]proto.Message:
		if s, ok := v["error"].(*spb.Status); ok {
			return errorJSON(status.FromProto(s))
		}
	}
	return nil, fmt.Errorf("%T has no form as JSON here", v)
}

// Unmarshal implements runtime.Marshaler.
func (format) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T has no form as JSON here", v)
	}
	return wirejson.Unmarshal(data, m)
}

// NewDecoder implements runtime.Marshaler.
func (f format) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		data, err := io.ReadAll(r) // bounded before
		if err != nil {
			return err
		}
		return f.Unmarshal(data, v)
	})
}

// NewEncoder implements runtime.Marshaler.
func (f format) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		b, err := f.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}

// ContentType implements runtime.Marshaler.
func (format) ContentType(any) string { return "application/json" }

// StreamContentType implements runtime.StreamContentType.
func (format) StreamContentType(any) string { return "application/x-ndjson" }

// failure is the JSON of an error.
type failure struct {
	Code    codes.Code        `json:"code"`
	Status  string            `json:"status"`
	Message string            `json:"message"`
	Details []json.RawMessage `json:"details"`
}

// errorJSON returns {"error": …} as one line, without its end.
func errorJSON(s *status.Status) ([]byte, error) {
	f := failure{s.Code(), code.Code(s.Code()).String(), s.Message(), []json.RawMessage{}}
	for _, d := range s.Details() {
		m, ok := d.(proto.Message)
		if !ok {
			continue // of no message that this daemon knows
		}
		fields, err := wirejson.Marshal(m)
		if err != nil {
			return nil, err
		}
		detail := map[string]json.RawMessage{}
		if err := json.Unmarshal(fields, &detail); err != nil {
			return nil, err
		}
		detail["@type"], _ = json.Marshal(m.ProtoReflect().Descriptor().FullName())
		all, err := json.Marshal(detail)
		if err != nil {
			return nil, err
		}
		f.Details = append(f.Details, all)
	}
	return json.Marshal(map[string]failure{"error": f})
}

// writeError answers a call that failed.
func writeError(ctx context.Context, w http.ResponseWriter, err error) {
	httpStatus := 0
	var by *runtime.HTTPStatusError
	if errors.As(err, &by) {
		httpStatus, err = by.HTTPStatus, by.Err
	}
	s := status.Convert(err)
	if httpStatus == 0 {
		httpStatus = runtime.HTTPStatusFromCode(s.Code())
	}
	b, err := errorJSON(s)
	if err != nil {
		http.Error(w, "internal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if md, ok := runtime.ServerMetadataFromContext(ctx); ok {
		for _, id := range md.TrailerMD.Get("x-request-id") {
			w.Header().Set("X-Request-Id", id)
		}
	}
	bounds.RetryAfter(w.Header(), s.Err())
	if httpStatus == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(httpStatus)
	_, _ = w.Write(append(b, '\n'))
}
