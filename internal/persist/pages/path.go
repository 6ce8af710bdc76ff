// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"maps"
	"slices"
)

// Paths checks the pages that searches in one transaction go through. The pages are
// read once.
type Paths struct {
	File
	// Row, if set, checks a row of a leaf that is on the way.
	Row func(bucket, key, value []byte) error
	// Free, if set, says that a page is not in use.
	Free func(id uint64) bool
	// Read, if set, is called with the bytes of each page that was read.
	Read func(bytes int64)

	pages   map[uint64]*page
	checked map[*page]bool // leaves whose rows are right
	list    []byte         // memory of one page of the list of free pages
}

// Reset makes p ready for another transaction. It keeps memory.
func (p *Paths) Reset(f File) {
	p.File = f
	clear(p.pages)
	clear(p.checked)
}

// Leaf checks every page in which a search for a key of a bucket ends or goes by, and
// the rows of its leaf. With that the key is where it belongs, or nowhere: the leaf has
// all keys between its first one and next, which is the first key of the next leaf, and
// nil after the last leaf.
//
// It errs on no side: for a single wrong bit in any of these pages it returns a *Damage,
// or what Row has returned. An old version of a page is told by Free alone.
func (p *Paths) Leaf(bucket string, key []byte) (next []byte, err error) {
	leaf, _, err := p.descend(p.Root, []byte(bucket), 1)
	if err != nil {
		return nil, err
	}
	root, within, err := leaf.root(bucket)
	if err != nil {
		return nil, err
	}
	if within == nil {
		if within, next, err = p.descend(root, key, 1); err != nil {
			return nil, err
		}
	}
	return next, p.rows(bucket, within)
}

// Way checks the layout of every page through which a search for a key of a bucket goes,
// and that each is where the page above it says. Such a search ends.
func (p *Paths) Way(bucket string, key []byte) error { return p.way(bucket, key, 0) }

// Rewritten checks the layout of every page that bbolt rewrites, and whose number of pages
// it trusts, when it puts a key into a bucket: those on the way to it; with remove, also
// those beside these, which it may merge.
func (p *Paths) Rewritten(bucket string, key []byte, remove bool) error {
	if remove {
		return p.way(bucket, key, 2)
	}
	return p.way(bucket, key, 0)
}

func (p *Paths) way(bucket string, key []byte, beside int) error {
	leaf, _, err := p.descend(p.Root, []byte(bucket), 0)
	if err != nil {
		return err
	}
	root, within, err := leaf.root(bucket)
	if err != nil || within != nil {
		return err
	}
	_, _, err = p.descend(root, key, beside)
	return err
}

// root returns the page of a bucket's root, or the page within the leaf of all buckets.
func (p *page) root(bucket string) (root uint64, within *page, err error) {
	i := p.find([]byte(bucket))
	if i >= p.count || string(p.key(i)) != bucket || !p.bucket(i) {
		return 0, nil, damage(p.id, "no bucket "+bucket, "all buckets")
	}
	return p.inline(i)
}

// Used checks that none of the pages that were read is in the list of free pages of a
// transaction.
func (p *Paths) Used(transaction uint64) error {
	read := slices.Sorted(maps.Keys(p.pages))
	id, err := p.freelist(transaction)
	if err != nil {
		return err
	}
	if int64(len(p.list)) != p.PageSize {
		p.list = make([]byte, p.PageSize)
	}
	_, err = p.eachFree(id, p.list, func(free uint64) error {
		for len(read) > 0 && read[0] < free {
			read = read[1:]
		}
		if len(read) > 0 && read[0] == free {
			return damage(free, "a free page", "one that is in use")
		}
		return nil
	})
	return err
}

// descend goes from the root of a tree to the leaf of a key. With beside 1 it reads the
// page after each on the way, too, and with 2 that before it.
func (p *Paths) descend(id uint64, key []byte, beside int) (leaf *page, next []byte, err error) {
	var first []byte
	for range maxHeight {
		at, err := p.page(id)
		if err != nil {
			return nil, nil, err
		}
		if err := at.checkPlace(first, next); err != nil {
			return nil, nil, err
		}
		if at.leaf {
			return at, next, nil
		}
		i := at.find(key)
		if i+1 < at.count {
			next = at.key(i + 1)
			if beside > 0 {
				after, err := p.page(at.child(i + 1))
				if err != nil {
					return nil, nil, err
				}
				if err := after.checkPlace(next, nil); err != nil {
					return nil, nil, err
				}
			}
		}
		if i > 0 && beside > 1 {
			before, err := p.page(at.child(i - 1))
			if err != nil {
				return nil, nil, err
			}
			if err := before.checkPlace(at.key(i-1), at.key(i)); err != nil {
				return nil, nil, err
			}
		}
		id, first = at.child(i), at.key(i)
	}
	return nil, nil, damage(id, "a tree without an end", fmt.Sprintf("at most %d levels", maxHeight))
}

func (p *Paths) page(id uint64) (*page, error) {
	if found := p.pages[id]; found != nil {
		return found, nil
	}
	if p.Free != nil && p.Free(id) {
		return nil, damage(id, "a free page", "one that is in use")
	}
	at, err := p.read(id, nil)
	if err != nil {
		return nil, err
	}
	if p.Read != nil {
		p.Read(int64(at.whole) * p.PageSize)
	}
	if p.pages == nil {
		p.pages = map[uint64]*page{}
	}
	p.pages[id] = at
	return at, nil
}

// rows checks the rows of a leaf.
func (p *Paths) rows(bucket string, leaf *page) error {
	if p.Row == nil || p.checked[leaf] {
		return nil
	}
	of := []byte(bucket)
	for i := range leaf.count {
		if leaf.bucket(i) {
			return damage(leaf.id, "bucket "+Text(leaf.key(i)), "a value")
		}
		if err := p.Row(of, leaf.key(i), leaf.value(i)); err != nil {
			return err
		}
	}
	if p.checked == nil {
		p.checked = map[*page]bool{}
	}
	p.checked[leaf] = true
	return nil
}
