// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
)

// Check says how to check a file.
type Check struct {
	// Transaction is the number of the transaction that the file is read as.
	Transaction uint64
	// Skip, if set, says that the leaves of a bucket are not to be read, but for the
	// first one. They are checked as far as others tell of them: that each is led to
	// once and not free, and takes as many pages as nobody else does.
	Skip func(bucket []byte) bool
	// Row, if set, is called with each row of the leaves that are read. The key and the
	// value are valid during the call only. The bucket is the outermost one.
	Row func(bucket, key, value []byte) error
	// Stop, if set, is asked before a page is read; its error ends the check.
	Stop func() error
}

// Check goes through all pages of a file. It finds, as a *Damage, each page that is not
// as bbolt writes it, that is not where its branch says, or that is reached twice; that
// is both reached and free; and that is neither. The file may change while it is
// checked, but neither the pages of the transaction nor its list of free pages.
//
// Memory: two bits a page, and a few pages.
func (f *File) Check(c Check) error {
	w := newWalk(f, c)
	if err := w.readFree(); err != nil {
		return err
	}
	if err := w.tree(f.Root, nil, 0); err != nil {
		return err
	}
	return w.account()
}

// walk is one run of Check.
type walk struct {
	*File
	Check
	used, free set
	buffers    [2 * maxHeight][]byte // by level
}

func newWalk(f *File, c Check) *walk {
	if c.Stop == nil {
		c.Stop = func() error { return nil }
	}
	if c.Row == nil {
		c.Row = func(_, _, _ []byte) error { return nil }
	}
	w := &walk{File: f, Check: c, used: newSet(f.Pages), free: newSet(f.Pages)}
	w.used.add(0) // the meta pages
	w.used.add(1)
	return w
}

// read reads a page into the buffer of a level.
func (w *walk) read(id uint64, level int) (*page, error) {
	if err := w.Stop(); err != nil {
		return nil, err
	}
	p, err := w.File.read(id, w.buffers[level])
	if err != nil {
		return nil, err
	}
	if p.whole == 1 {
		w.buffers[level] = p.b
	}
	return p, nil
}

// take notes that pages from id on are used.
func (w *walk) take(id, whole uint64) error {
	for n := id; n < id+whole; n++ {
		if n < 2 || n >= w.Pages {
			return damage(n, "a page elsewhere", fmt.Sprintf("one of the pages 2 to %d", w.Pages-1))
		}
		if w.free.has(n) {
			return damage(n, "a page that is in use and in the list of free pages", "one of both")
		}
		if w.used.has(n) {
			return damage(n, "a page that is reached twice", "to be reached once")
		}
		w.used.add(n)
	}
	return nil
}

// tree goes through a tree of pages. Its pages are read into the buffers from a level on.
func (w *walk) tree(root uint64, bucket []byte, level int) error {
	height := 0 // of the root above the leaves
	for id := root; ; height++ {
		if level+height >= len(w.buffers) || height == maxHeight {
			return damage(root, "a tree without an end", fmt.Sprintf("at most %d levels", maxHeight))
		}
		p, err := w.read(id, level+height)
		if err != nil {
			return err
		}
		if p.leaf {
			break
		}
		id = p.child(0)
	}
	return w.page(root, bucket, level, height, nil, nil)
}

// page goes through a page and what is below it, whose keys are from first to before next.
func (w *walk) page(id uint64, bucket []byte, level, height int, first, next []byte) error {
	if height == 0 && first != nil && bucket != nil && w.Skip != nil && w.Skip(bucket) {
		return w.take(id, 1) // account finds out how many it takes
	}
	p, err := w.read(id, level)
	if err != nil {
		return err
	}
	if err := w.take(id, p.whole); err != nil {
		return err
	}
	if p.leaf != (height == 0) {
		return damage(id, "a page of another level", "leaves that are equally far from the root")
	}
	if err := p.checkPlace(first, next); err != nil {
		return err
	}
	if p.leaf {
		return w.leaf(p, bucket, level+1)
	}
	for i := range p.count {
		after := next
		if i+1 < p.count {
			after = p.key(i + 1)
		}
		if err := w.page(p.child(i), bucket, level+1, height-1, p.key(i), after); err != nil {
			return err
		}
	}
	return nil
}

// leaf goes through the rows of a leaf and the buckets in it.
func (w *walk) leaf(p *page, bucket []byte, level int) error {
	for i := range p.count {
		if !p.bucket(i) {
			if bucket == nil {
				return damage(p.id, "a row that is in no bucket, "+Text(p.key(i)), "only buckets")
			}
			if err := w.Row(bucket, p.key(i), p.value(i)); err != nil {
				return err
			}
			continue
		}
		name := bucket
		if name == nil {
			name = p.key(i)
		}
		root, within, err := p.inline(i)
		if err != nil {
			return err
		}
		if level == len(w.buffers) {
			return damage(p.id, "buckets in buckets", fmt.Sprintf("at most %d", maxHeight))
		}
		if within != nil {
			err = w.leaf(within, name, level+1)
		} else {
			err = w.tree(root, name, level)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// account compares used and free pages with all that the file has. Leaves that were not
// read take the pages after them that nobody else has: no more, no less.
func (w *walk) account() error {
	owner := uint64(0)
	for id := uint64(2); id < w.Pages; id++ {
		switch {
		case w.used.has(id):
			owner = id
		case w.free.has(id):
			owner = 0
		case owner != 0 && w.Skip != nil:
			last, err := w.unread(owner)
			if err != nil {
				return err
			}
			if last < id {
				return neither(id)
			}
			if err := w.take(id, last+1-id); err != nil {
				return err
			}
			owner, id = 0, last
		default:
			return neither(id)
		}
	}
	return nil
}

func neither(id uint64) error {
	return damage(id, "a page that nothing leads to and that is not in the list of free pages", "one of both")
}

// unread returns the last page of a leaf that was not read, or of another page.
func (w *walk) unread(id uint64) (last uint64, err error) {
	p, err := w.read(id, 0)
	if err != nil {
		return 0, err
	}
	return id + p.whole - 1, nil
}

// set is a set of page numbers.
type set []uint64

func newSet(pages uint64) set { return make(set, (pages+63)/64) }

func (s set) add(id uint64) { s[id/64] |= 1 << (id % 64) }

func (s set) has(id uint64) bool { return id/64 < uint64(len(s)) && s[id/64]&(1<<(id%64)) != 0 }
