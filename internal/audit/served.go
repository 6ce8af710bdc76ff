// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Served compares how a daemon, or an export, shows an entry with the entry itself.
func (r *Replay) Served(record ledger.Record, e *pb.Entry) error {
	if what, expected, found := difference(wire.FromRecord(record, true), e); what != "" {
		return &Finding{Ledger: r.Name(), Position: record.Entry.Position, What: what, Expected: expected, Found: found}
	}
	return nil
}

// ServedLedger compares how a daemon shows the ledger at the newest entry with
// what follows from its entries.
func (r *Replay) ServedLedger(l *pb.Ledger) error {
	if what, expected, found := difference(wire.FromView(r.State().View()), l); what != "" {
		return &Finding{Ledger: r.Name(), What: what, Expected: expected, Found: found}
	}
	return nil
}

// difference is the first field, by number, in which two messages differ; "" if
// there is none.
func difference(want, got proto.Message) (what, expected, found string) {
	a, b := want.ProtoReflect(), got.ProtoReflect()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if a.Has(fd) == b.Has(fd) && a.Get(fd).Equal(b.Get(fd)) {
			continue
		}
		return string(fd.Name()), valueText(a, fd), valueText(b, fd)
	}
	if len(b.GetUnknown()) > 0 {
		return "fields", "those that this program knows", "others too, of a newer daemon"
	}
	return "", "", ""
}

// maxText bounds how much of a value a finding shows.
const maxText = 200

func valueText(m protoreflect.Message, fd protoreflect.FieldDescriptor) string {
	var text string
	switch {
	case !m.Has(fd):
		return "none"
	case fd.Kind() == protoreflect.BytesKind && !fd.IsList():
		text = fmt.Sprintf("%x", m.Get(fd).Bytes())
	case fd.Kind() == protoreflect.Uint64Kind && !fd.IsList():
		text = fmt.Sprint(m.Get(fd).Uint())
	default:
		only := m.New()
		only.Set(fd, m.Get(fd))
		b, err := protojson.Marshal(only.Interface())
		if err != nil {
			return err.Error()
		}
		_, text, _ = strings.Cut(strings.TrimSuffix(string(b), "}"), ":")
		text = strings.TrimSpace(text)
	}
	if short := []rune(text); len(short) > maxText {
		return string(short[:maxText]) + "…"
	}
	return text
}
