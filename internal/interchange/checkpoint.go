// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/interchange/pickle"
)

// A checkpoint is what torch.save wrote: a ZIP archive whose entry data.pkl is a pickle and whose
// other entries are the tensors, or, before PyTorch 1.6, four pickles and then the tensors. Opacus's
// PrivacyEngine.save_checkpoint puts the accountant's state_dict() under stateKey. The pickle is
// read without running it (package pickle), and the tensors are not read at all.
const (
	stateKey  = "privacy_accountant_state_dict"
	pickleEnd = "data.pkl"

	maxDirectory = 8 << 20 // bytes that are read to list a ZIP archive's entries
	legacyBefore = 3       // pickles before the one that was saved: a magic number, a version, a platform

	maxSteps = 200_000 // rows of a history
)

// IsCheckpoint says whether a file that starts so is a ZIP archive or a pickle, and no JSON.
func IsCheckpoint(start []byte) bool {
	return bytes.HasPrefix(start, []byte("PK\x03\x04")) || isPickle(start)
}

func isPickle(start []byte) bool { return len(start) >= 2 && start[0] == 0x80 && start[1] <= 5 }

// ReadCheckpoint makes a workload of the accountant's history in a checkpoint of Opacus, of any size.
func ReadCheckpoint(file io.ReaderAt, size int64, adj pb.Workload_Adjacency) (*pb.Workload, []string, error) {
	data, err := pickled(file, size)
	if err != nil {
		return nil, nil, bad("file", err.Error(), "a checkpoint of torch.save, or a pickle")
	}
	value, rest, err := pickle.Load(data)
	if value == any(pickle.LongNumber) {
		for i := 0; i < legacyBefore && err == nil; i++ {
			value, rest, err = pickle.Load(rest)
		}
	}
	if err != nil {
		return nil, nil, bad("file", err.Error(), "a pickle that torch.save or pickle.dump wrote in a protocol from 2 "+
			"to 5, of at most 32 MiB without its tensors")
	}
	state, err := accountantState(value)
	if err != nil {
		return nil, nil, err
	}
	return readOpacus(state, adj)
}

// pickled is the pickle in a file, cut where it is longer than package pickle reads.
func pickled(file io.ReaderAt, size int64) ([]byte, error) {
	start := make([]byte, 4)
	if _, err := file.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if isPickle(start) {
		return io.ReadAll(io.NewSectionReader(file, 0, min(size, pickle.MaxBytes+1)))
	}
	bounded := &boundedReader{file, maxDirectory}
	archive, err := zip.NewReader(bounded, size)
	if err != nil {
		return nil, fmt.Errorf("a ZIP archive that cannot be read: %w", err)
	}
	var found *zip.File
	for _, f := range archive.File {
		if f.Name != pickleEnd && !strings.HasSuffix(f.Name, "/"+pickleEnd) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("a ZIP archive with two entries %s", pickleEnd)
		}
		found = f
	}
	if found == nil {
		return nil, fmt.Errorf("a ZIP archive without an entry %s", pickleEnd)
	}
	bounded.left = math.MaxInt64
	r, err := found.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(io.LimitReader(r, pickle.MaxBytes+1))
}

// boundedReader ends a list of entries that is too long, whatever the archive says of its length.
type boundedReader struct {
	io.ReaderAt
	left int64
}

func (b *boundedReader) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("its list of entries is longer than %d MiB", maxDirectory>>20)
	}
	return b.ReaderAt.ReadAt(p, at)
}

// accountantState finds the state of the accountant: the value itself, or in a dictionary what
// stateKey names, or the only value that has a history. It gives it as JSON would.
func accountantState(value any) (any, error) {
	top, ok := value.(*pickle.Dict)
	if !ok {
		return plain(value) // a history alone, or refused by readOpacus
	}
	if _, ok := top.Get("history"); ok {
		return plain(top)
	}
	if state, ok := top.Get(stateKey); ok {
		return plain(state)
	}
	var found []string
	for _, name := range top.Names() {
		inner, _ := top.Get(name)
		if d, ok := inner.(*pickle.Dict); ok && slices.Contains(d.Names(), "history") {
			found = append(found, name)
		}
	}
	if len(found) == 1 {
		state, _ := top.Get(found[0])
		return plain(state)
	}
	const allowed = "one state of an accountant, as " + stateKey + ", which PrivacyEngine.save_checkpoint writes; or " +
		"save json.dump(privacy_engine.accountant.state_dict(), file)"
	if len(found) > 1 {
		return nil, bad("file", fmt.Sprintf("the states %.200q", found), allowed)
	}
	return nil, bad("file", fmt.Sprintf("a dictionary with the keys %.200q", top.Names()), allowed)
}

// plain gives a state, its history, the steps in it and their three numbers as JSON would; what has
// another form becomes a string that says what it is.
func plain(state any) (any, error) {
	d, ok := state.(*pickle.Dict)
	if !ok {
		return plainHistory(state)
	}
	out := map[string]any{}
	for _, name := range d.Names() {
		v, _ := d.Get(name)
		out[name] = plainValue(v)
	}
	history, ok := d.Get("history")
	if !ok {
		return out, nil
	}
	var err error
	out["history"], err = plainHistory(history)
	return out, err
}

func plainHistory(v any) (any, error) {
	list, ok := v.(*pickle.List)
	if !ok {
		return plainValue(v), nil
	}
	if len(list.Items) > maxSteps {
		return nil, bad("history", fmt.Sprintf("%d steps", len(list.Items)), fmt.Sprintf("at most %d", maxSteps))
	}
	out := make([]any, len(list.Items))
	for i, item := range list.Items {
		step, ok := item.(*pickle.List)
		if !ok || len(step.Items) != 3 {
			out[i] = plainValue(item)
			continue
		}
		out[i] = []any{plainValue(step.Items[0]), plainValue(step.Items[1]), plainValue(step.Items[2])}
	}
	return out, nil
}

func plainValue(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case float64:
		switch {
		case math.IsNaN(v):
			return notANumber
		case math.IsInf(v, 1):
			return infinity
		case math.IsInf(v, -1):
			return negInfinity
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return pickle.Describe(v)
}
