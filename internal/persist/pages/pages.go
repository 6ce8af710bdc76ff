// SPDX-License-Identifier: Apache-2.0

// Package pages reads the pages of a bbolt file without bbolt, and says whether they
// make whole trees.
//
// bbolt trusts its pages: one wrong bit in a branch page leads a search to another
// leaf, where it finds nothing. bbolt's own check (Tx.Check) may not run beside writers,
// keeps a map of all pages in memory, skips buckets that are stored within a page of
// another bucket, and follows sizes that a damaged page states wherever they lead. This
// package relies on nothing that it has not checked. It uses that bbolt writes each page
// in one way only:
//
//   - A page has id (8 bytes), flags (2), count (2) and overflow (4), in the machine's
//     byte order. Then follow count elements of 16 bytes: in a branch position, key size
//     (4 each) and page (8); in a leaf flags, position, key size and value size (4 each).
//   - The keys and values follow in the order of their elements, without gaps. So count,
//     positions and sizes determine each other, and the number of overflow pages.
//   - Keys ascend. The key of a branch's element is the first key of the page that it
//     leads to.
//   - All leaves of a tree are equally far from its root.
//   - A value that is a bucket begins with the page of its root (8) and a sequence (8),
//     which this program does not use. If that page is 0, the rest of the value is the
//     bucket's only page, a leaf.
//
// What this leaves to others: keys and values of leaves, which must have checksums of
// their own, and old pages that are no longer in use and are whole. Those are told by
// the list of free pages.
package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	branchPage, leafPage, freePage = 0x01, 0x02, 0x10

	headerSize  = 16
	elementSize = 16
	bucketFlag  = 1
	bucketSize  = 16 // of a bucket's value before its inline page

	// maxPage bounds the bytes that one page may state to have: more than twice what
	// this program writes in one commit.
	maxPage = 64 << 20
	// maxHeight bounds the levels of a tree, and how deep buckets are nested.
	maxHeight = 32
)

var order = binary.NativeEndian

// Damage is something in a file that bbolt would not have written.
type Damage struct {
	Page     uint64
	Expected string
	Found    string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("page %d: found %s; expected %s", d.Page, d.Found, d.Expected)
}

func damage(page uint64, found, expected string) error {
	return &Damage{Page: page, Expected: expected, Found: found}
}

// Text shows a key from a page, whose length may be wrong, too.
func Text(key []byte) string {
	const most = 64
	if len(key) > most {
		return fmt.Sprintf("%x… (%d bytes)", key[:most], len(key))
	}
	return fmt.Sprintf("%x", key)
}

// File is a file as one transaction sees it.
type File struct {
	Reader   io.ReaderAt
	Mapped   []byte // its pages, where they are in memory; nil: they are read
	PageSize int64
	Pages    uint64 // all pages with a smaller number are in the file
	Root     uint64 // page of the tree of buckets
}

// ErrNoMeta: neither meta page is of the transaction. In a file that others write, each of
// the two is overwritten by the second next commit.
var ErrNoMeta = errors.New("no meta page is of this transaction")

// freelist returns the page of the list of free pages, as the meta page of the
// transaction has it.
func (f *File) freelist(transaction uint64) (id uint64, err error) {
	for n := range 2 {
		meta, ok, err := f.meta(n)
		if err != nil {
			return 0, err
		}
		if !ok || order.Uint64(meta[metaTransaction:]) != transaction {
			continue
		}
		if id = order.Uint64(meta[metaFreelist:]); id < 2 || id >= f.Pages {
			err = damage(id, "a list of free pages elsewhere", fmt.Sprintf("in one of the pages 2 to %d", f.Pages-1))
		}
		return id, err
	}
	return 0, fmt.Errorf("transaction %d: %w", transaction, ErrNoMeta)
}

// page is a page whose layout was checked.
type page struct {
	id    uint64
	whole uint64 // pages that it takes
	leaf  bool
	count int
	b     []byte // from its header on
}

func (p *page) element(i int) []byte { return p.b[headerSize+i*elementSize:] }

// field returns a number of element i: in a branch position, key size; in a leaf flags,
// position, key size, value size.
func (p *page) field(i, n int) uint64 { return uint64(order.Uint32(p.element(i)[4*n:])) }

// span returns where the key of element i begins, and how long key and value are.
func (p *page) span(i int) (begin, key, value uint64) {
	begin = uint64(headerSize + i*elementSize)
	if p.leaf {
		return begin + p.field(i, 1), p.field(i, 2), p.field(i, 3)
	}
	return begin + p.field(i, 0), p.field(i, 1), 0
}

func (p *page) key(i int) []byte {
	begin, key, _ := p.span(i)
	return p.b[begin : begin+key : begin+key]
}

func (p *page) value(i int) []byte {
	begin, key, value := p.span(i)
	return p.b[begin+key : begin+key+value : begin+key+value]
}

func (p *page) child(i int) uint64 { return order.Uint64(p.element(i)[8:]) }

func (p *page) bucket(i int) bool { return p.leaf && p.field(i, 0) == bucketFlag }

// find returns the index of the element that leads to a key, or that would be before it.
func (p *page) find(key []byte) int {
	low, high := 0, p.count // the first element after key is in [low, high]
	for low < high {
		middle := (low + high) / 2
		if bytes.Compare(p.key(middle), key) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return max(low-1, 0)
}

// fill reads as many bytes as b has from the file. A file that ends before them is damaged.
func (f *File) fill(b []byte, at int64) error {
	_, err := f.Reader.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		return damage(uint64(at/f.PageSize), "the end of the file", "a page of it")
	}
	return err
}

// bytes returns n pages from one on. It uses room for them, if that is large enough.
func (f *File) bytes(id, n uint64, room []byte) ([]byte, error) {
	begin, size := int64(id)*f.PageSize, int64(n)*f.PageSize
	if f.Mapped != nil {
		return f.Mapped[begin : begin+size : begin+size], nil
	}
	if int64(cap(room)) < size {
		room = make([]byte, size)
	}
	return room[:size], f.fill(room[:size], begin)
}

// read reads a page and checks its layout. It uses room for it, if that is large enough.
func (f *File) read(id uint64, room []byte) (p *page, err error) {
	if id < 2 || id >= f.Pages {
		return nil, damage(id, "a page elsewhere", fmt.Sprintf("one of the pages 2 to %d", f.Pages-1))
	}
	b, err := f.bytes(id, 1, room)
	if err != nil {
		return nil, err
	}
	if found := order.Uint64(b); found != id {
		return nil, damage(id, fmt.Sprintf("the number %d", found), "its own number")
	}
	whole := 1 + uint64(order.Uint32(b[12:]))
	if whole > 1 {
		if err := f.checkWhole(id, whole, b); err != nil {
			return nil, err
		}
		if b, err = f.bytes(id, whole, nil); err != nil {
			return nil, err
		}
	}
	p = &page{id: id, whole: whole, b: b}
	end, err := p.check()
	if err != nil {
		return nil, err
	}
	if needed := (end + uint64(f.PageSize) - 1) / uint64(f.PageSize); needed != whole {
		return nil, damage(id, fmt.Sprintf("%d overflow pages", whole-1),
			fmt.Sprintf("%d, which its content needs", needed-1))
	}
	return p, nil
}

// checkWhole compares the number of pages that a page says it takes with what its last
// element says, before memory is made for them.
func (f *File) checkWhole(id, whole uint64, b []byte) error {
	if id+whole > f.Pages || int64(whole)*f.PageSize > maxPage {
		return damage(id, fmt.Sprintf("%d overflow pages", whole-1),
			fmt.Sprintf("a page within the file, of at most %d bytes", maxPage))
	}
	count := int64(order.Uint16(b[10:]))
	if count == 0 {
		return damage(id, fmt.Sprintf("%d overflow pages", whole-1), "none, as it is empty")
	}
	last := int64(headerSize) + (count-1)*elementSize
	if last+elementSize > int64(whole)*f.PageSize {
		return damage(id, fmt.Sprintf("%d elements", count), fmt.Sprintf("as many as fit into %d pages", whole))
	}
	var element [elementSize]byte
	if err := f.fill(element[:], int64(id)*f.PageSize+last); err != nil {
		return err
	}
	number := func(n int) int64 { return int64(order.Uint32(element[4*n:])) }
	end := last + number(0) + number(1)
	if order.Uint16(b[8:]) == leafPage {
		end = last + number(1) + number(2) + number(3)
	}
	if needed := (end + f.PageSize - 1) / f.PageSize; needed != int64(whole) {
		return damage(id, fmt.Sprintf("%d overflow pages", whole-1),
			fmt.Sprintf("%d, which its last element needs", needed-1))
	}
	return nil
}

// check checks the layout of a page, and that its keys ascend. It returns where its
// content ends.
func (p *page) check() (end uint64, err error) {
	flags := order.Uint16(p.b[8:])
	p.leaf, p.count = flags == leafPage, int(order.Uint16(p.b[10:]))
	if !p.leaf && flags != branchPage {
		return 0, damage(p.id, fmt.Sprintf("flags %#x", flags), "a branch or a leaf")
	}
	end = uint64(headerSize + p.count*elementSize)
	if end > uint64(len(p.b)) {
		return 0, damage(p.id, fmt.Sprintf("%d elements", p.count),
			fmt.Sprintf("as many as fit into %d bytes", len(p.b)))
	}
	if !p.leaf && p.count == 0 {
		return 0, damage(p.id, "no elements", "a branch that leads somewhere")
	}
	for i := range p.count {
		begin, key, value := p.span(i)
		if begin != end {
			return 0, damage(p.id, fmt.Sprintf("element %d at byte %d", i, begin),
				fmt.Sprintf("at byte %d, after what is before it", end))
		}
		end = begin + key + value
		if key == 0 || end > uint64(len(p.b)) {
			return 0, damage(p.id, fmt.Sprintf("element %d with a key of %d bytes and a value of %d", i, key, value),
				"one within the page")
		}
		if p.leaf && p.field(i, 0) > bucketFlag {
			return 0, damage(p.id, fmt.Sprintf("element %d with flags %#x", i, p.field(i, 0)), "a value or a bucket")
		}
		if i > 0 && bytes.Compare(p.key(i-1), p.key(i)) >= 0 {
			return 0, damage(p.id, fmt.Sprintf("key %s before key %s", Text(p.key(i-1)), Text(p.key(i))),
				"ascending keys")
		}
	}
	return end, nil
}

// checkPlace checks that a page is the one to which its branch leads: its first key is
// the branch's, its last one is before the branch's next. The root has no bounds.
func (p *page) checkPlace(first, next []byte) error {
	if first != nil && (p.count == 0 || !bytes.Equal(p.key(0), first)) {
		found := "no keys"
		if p.count > 0 {
			found = "first key " + Text(p.key(0))
		}
		return damage(p.id, found, Text(first)+", as the page above says")
	}
	if next != nil && p.count > 0 && bytes.Compare(p.key(p.count-1), next) >= 0 {
		return damage(p.id, "last key "+Text(p.key(p.count-1)),
			"one before "+Text(next)+", with which the next page begins")
	}
	return nil
}

// inline reads the bucket that is the value of element i of a leaf: the page of its
// root, or the page within the value.
func (p *page) inline(i int) (root uint64, within *page, err error) {
	value := p.value(i)
	if len(value) < bucketSize {
		return 0, nil, damage(p.id, fmt.Sprintf("bucket %s with %d bytes", Text(p.key(i)), len(value)),
			fmt.Sprintf("at least %d", bucketSize))
	}
	if sequence := order.Uint64(value[8:]); sequence != 0 {
		return 0, nil, damage(p.id, fmt.Sprintf("bucket %s with the sequence %d", Text(p.key(i)), sequence),
			"0, as none is used")
	}
	if root = order.Uint64(value); root != 0 {
		if len(value) != bucketSize {
			return 0, nil, damage(p.id, fmt.Sprintf("bucket %s with %d bytes and a page", Text(p.key(i)), len(value)),
				fmt.Sprint(bucketSize))
		}
		return root, nil, nil
	}
	within = &page{id: p.id, b: value[bucketSize:]}
	if len(within.b) < headerSize || order.Uint64(within.b) != 0 || order.Uint32(within.b[12:]) != 0 {
		return 0, nil, damage(p.id, fmt.Sprintf("bucket %s with another header", Text(p.key(i))),
			"a page within the page, without number and overflow")
	}
	end, err := within.check()
	if err != nil {
		return 0, nil, err
	}
	if !within.leaf || end != uint64(len(within.b)) {
		return 0, nil, damage(p.id, fmt.Sprintf("bucket %s with %d bytes", Text(p.key(i)), len(within.b)),
			fmt.Sprintf("a leaf of %d bytes", end))
	}
	return 0, within, nil
}
