// SPDX-License-Identifier: Apache-2.0

package jsonapi_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/jsonapi/conformtest"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// The document is valid OpenAPI, as somebody else's library reads it.
func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	d, err := conformtest.Document(t.Context(), jsonapi.Document)
	if err != nil {
		t.Fatal(err)
	}
	if d.OpenAPI != "3.1.0" || d.Paths.Len() < 35 {
		t.Errorf("version %s, %d paths", d.OpenAPI, d.Paths.Len())
	}
}

// Whatever a message of the API says, its JSON is what the document describes: every request and every answer, with
// numbers that JSON has not, integers beyond 2^53, text of all kinds, and each alternative.
func TestEveryMessageIsAsDescribed(t *testing.T) {
	t.Parallel()
	schemas := conformtest.NewSchemas()
	random := rand.New(rand.NewPCG(19, 2))
	for m := range api.Methods() {
		if m.IsStreamingClient() {
			continue
		}
		name := strings.TrimPrefix(api.Path(m), jsonapi.Prefix)
		for n := range 30 {
			for _, of := range []protoreflect.MessageDescriptor{m.Input(), m.Output()} {
				message := dynamicpb.NewMessage(of)
				if n > 0 { // at first what nobody has set anything in
					fill(random, message, 3)
				}
				text, err := wirejson.Marshal(message)
				if err != nil {
					t.Fatalf("%s: %v: %v", name, message, err)
				}
				switch {
				case of == m.Input():
					err = schemas.Request(name, text)
				case m.IsStreamingServer():
					err = schemas.Line(name, fmt.Appendf(nil, `{"result":%s}`, text))
				default:
					err = schemas.Answer(name, 200, "application/json", text)
				}
				if err != nil {
					t.Fatalf("%s is not as the document says:\n%s\n%v", of.Name(), text, err)
				}
			}
		}
	}
}

// fill sets about half of a message's fields, and of each choice one.
func fill(random *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if random.IntN(2) == 0 || f.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case f.IsMap():
			key := protoreflect.ValueOfString("key <script>").MapKey()
			m.Mutable(f).Map().Set(key, protoreflect.ValueOfString("value\u202e"))
		case f.IsList():
			list := m.Mutable(f).List()
			for range random.IntN(3) {
				if f.Message() != nil {
					fillMessage(random, list.AppendMutable().Message(), depth-1)
				} else {
					list.Append(scalar(random, f))
				}
			}
		case f.Message() != nil:
			fillMessage(random, m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, scalar(random, f))
		}
	}
}

// fillMessage is fill, for times, too: those that have a form as JSON.
func fillMessage(random *rand.Rand, m protoreflect.Message, depth int) {
	if m.Descriptor().FullName() == "google.protobuf.Timestamp" {
		m.Set(m.Descriptor().Fields().ByName("seconds"), protoreflect.ValueOfInt64(random.Int64N(4e9)))
		m.Set(m.Descriptor().Fields().ByName("nanos"), protoreflect.ValueOfInt32(random.Int32N(1e9)))
		return
	}
	fill(random, m, depth)
}

func scalar(random *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	pick := random.IntN(4)
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(pick > 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(random.IntN(f.Enum().Values().Len())).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32([]int32{0, -1, math.MaxInt32, math.MinInt32}[pick])
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32([]uint32{0, 1, 256, math.MaxUint32}[pick])
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64([]int64{0, -1, math.MaxInt64, math.MinInt64}[pick])
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64([]uint64{0, 1 << 53, 1<<53 + 1, math.MaxUint64}[pick])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, math.Inf(1), 1e-300, math.NaN()}[pick])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, 0xff, byte(pick)}[:pick%4])
	}
	return protoreflect.ValueOfString([]string{"", "\u202e<script>", "שלום", "\x1b[31m"}[pick])
}

// What is not as the document says is found: otherwise the tests that check answers could not fail.
func TestWrongAnswersAreFound(t *testing.T) {
	t.Parallel()
	schemas := conformtest.NewSchemas()
	for name, err := range map[string]error{
		"an unknown field":      schemas.Answer("Admin/GetAccess", 200, "application/json", []byte(`{"extra": 1}`)),
		"a wrong type":          schemas.Answer("Admin/GetAccess", 200, "application/json", []byte(`{"principal": 1}`)),
		"no JSON":               schemas.Answer("Admin/GetAccess", 200, "application/json", []byte(`{`)),
		"another kind":          schemas.Answer("Admin/GetAccess", 200, "text/plain", []byte(`{}`)),
		"an error without code": schemas.Answer("Admin/GetAccess", 404, "application/json", []byte(`{"error": {}}`)),
		"an answer as an error": schemas.Answer("Admin/GetAccess", 404, "application/json",
			[]byte(`{"principal": "x"}`)),
		"no method":          schemas.Answer("Nothing", 200, "application/json", []byte(`{}`)),
		"no method, as text": schemas.Answer("Nothing", 404, "text/plain", []byte(`{}`)),
		"two alternatives": schemas.Request("Questions/QueryPrivacy",
			[]byte(`{"ledger": "a", "delta": 0.1, "epsilon": 1}`)),
		"a number below 0":       schemas.Request("GetHead", []byte(`{"position": -1}`)),
		"a line that is neither": schemas.Line("Ledgers/WatchLedger", []byte(`{}`)),
	} {
		if err == nil {
			t.Errorf("%s is not found", name)
		}
	}
	if err := schemas.Request("Questions/QueryPrivacy", []byte(`{"ledger": "a", "delta": 0.1}`)); err != nil {
		t.Error(err)
	}
	broken := bytes.Replace(jsonapi.Document, []byte(`"type": "boolean"`), []byte(`"type": "bool"`), 1)
	if _, err := conformtest.Document(t.Context(), broken); err == nil {
		t.Error("a type that there is not is not found")
	}
}
