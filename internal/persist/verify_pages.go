package persist

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/dpaccountant/accountant/internal/audit"
)

// pages walks bbolt's tree of pages before bbolt does, which follows a page that
// leads back to one above it for ever. Layout (bbolt, internal/common, in the
// machine's byte order): a page has id (8 bytes), flags (2), count (2), overflow (4);
// then elements of 16 bytes: in a branch position, key size (4 each), page (8); in a
// leaf flags, position, key size, value size (4 each). A leaf's value that is a bucket
// begins with the page of its root (8), 0 if the bucket is within the value.
type pages struct {
	file    io.ReaderAt
	size    int64 // of a page
	number  uint64
	visited map[uint64]bool
}

const (
	branchPage, leafPage = 1, 2
	pageHeader           = 16
	pageElement          = 16
	leafBucket           = 1
)

// check returns a finding unless every page below root is there once.
func (p *pages) check(root uint64) error {
	for todo := []uint64{root}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if id < 2 || id >= p.number { // the first two are meta pages
			return pageFinding(id, fmt.Sprintf("pages 2 to %d", p.number-1), "a page elsewhere")
		}
		if p.visited[id] {
			return pageFinding(id, "to be reached once", "it is reached twice")
		}
		p.visited[id] = true
		below, err := p.below(id)
		if err != nil {
			return err
		}
		todo = append(todo, below...)
	}
	return nil
}

func pageFinding(id uint64, expected, found string) error {
	return &audit.Finding{What: fmt.Sprintf("page %d of the file", id), Expected: expected, Found: found}
}

// below returns the pages that a page leads to.
func (p *pages) below(id uint64) (ids []uint64, err error) {
	order := binary.NativeEndian
	var header [pageHeader]byte
	if _, err := p.file.ReadAt(header[:], int64(id)*p.size); err != nil {
		return nil, err
	}
	flags, count, overflow := order.Uint16(header[8:]), int(order.Uint16(header[10:])), uint64(order.Uint32(header[12:]))
	if found := order.Uint64(header[:]); found != id {
		return nil, pageFinding(id, "its own number", fmt.Sprint(found))
	}
	if flags != branchPage && flags != leafPage || id+overflow >= p.number {
		return nil, pageFinding(id, "a branch or a leaf within the file", fmt.Sprintf("flags %d, %d pages more", flags, overflow))
	}
	content := make([]byte, int64(1+overflow)*p.size)
	if _, err := p.file.ReadAt(content, int64(id)*p.size); err != nil {
		return nil, err
	}
	for i := range count {
		at := pageHeader + i*pageElement
		if at+pageElement > len(content) {
			return nil, pageFinding(id, "elements within the page", fmt.Sprintf("%d", count))
		}
		element := content[at:]
		if flags == branchPage {
			ids = append(ids, order.Uint64(element[8:]))
			continue
		}
		key := uint64(at) + uint64(order.Uint32(element[4:]))
		value := key + uint64(order.Uint32(element[8:]))
		end := value + uint64(order.Uint32(element[12:]))
		if end > uint64(len(content)) {
			return nil, pageFinding(id, "keys and values within the page", fmt.Sprintf("one up to byte %d", end))
		}
		if order.Uint32(element)&leafBucket == 0 {
			continue
		}
		if end-value < 16 {
			return nil, pageFinding(id, "a bucket of at least 16 bytes", fmt.Sprint(end-value))
		}
		if root := order.Uint64(content[value:]); root != 0 {
			ids = append(ids, root)
		}
	}
	return ids, nil
}
