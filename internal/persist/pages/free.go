// SPDX-License-Identifier: Apache-2.0

package pages

import "fmt"

// Free returns what tells whether a page is in the list of free pages of a transaction.
func (f *File) Free(transaction uint64) (free func(id uint64) bool, err error) {
	w := newWalk(f, Check{Transaction: transaction})
	if err := w.readFree(); err != nil {
		return nil, err
	}
	return w.free.has, nil
}

// CheckFreeSize checks how many pages the list of free pages of a transaction takes, which
// bbolt trusts when it writes the next list. It makes room for the numbers of all free
// pages and one page more, before it takes that room from them.
func (f *File) CheckFreeSize(transaction uint64) error {
	id, err := f.freelist(transaction)
	if err != nil {
		return err
	}
	b := make([]byte, headerSize+8)
	if err := f.fill(b, int64(id)*f.PageSize); err != nil {
		return err
	}
	if found, flags := order.Uint64(b), order.Uint16(b[8:]); found != id || flags != freePage {
		return damage(id, fmt.Sprintf("the number %d and flags %#x", found, flags), "the list of free pages")
	}
	count, whole := uint64(order.Uint16(b[10:])), 1+uint64(order.Uint32(b[12:]))
	if count == 0xFFFF {
		count = order.Uint64(b[headerSize:])
	}
	room := func(count uint64) uint64 {
		if count >= 0xFFFF {
			count++
		}
		return (headerSize+8*count)/uint64(f.PageSize) + 1
	}
	if needed := room(count); whole != needed && whole != room(count+whole) {
		return damage(id, fmt.Sprintf("%d overflow pages of a list of %d free pages", whole-1, count),
			fmt.Sprint(needed-1))
	}
	return nil
}

// readFree reads the list of free pages.
func (w *walk) readFree() error {
	id, err := w.freelist(w.Transaction)
	if err != nil {
		return err
	}
	whole, err := w.eachFree(id, make([]byte, w.PageSize), func(free uint64) error {
		w.free.add(free)
		return nil
	})
	if err != nil {
		return err
	}
	return w.take(id, whole)
}

// eachFree calls found with the numbers of the list of free pages that begins at page id,
// in ascending order, and returns how many pages the list takes. It has a header as every
// page, then the numbers. If the header's count is 0xFFFF, the first number is the count.
// Each page of the list is read into b, which has the size of one.
func (f *File) eachFree(id uint64, b []byte, found func(uint64) error) (whole uint64, err error) {
	at := int64(id) * f.PageSize
	fill := func() error {
		err := f.fill(b, at)
		at += f.PageSize
		return err
	}
	if err := fill(); err != nil {
		return 0, err
	}
	if number, flags := order.Uint64(b), order.Uint16(b[8:]); number != id || flags != freePage {
		return 0, damage(id, fmt.Sprintf("the number %d and flags %#x", number, flags), "the list of free pages")
	}
	count := uint64(order.Uint16(b[10:]))
	whole = 1 + uint64(order.Uint32(b[12:]))
	if id+whole > f.Pages {
		return 0, damage(id, fmt.Sprintf("%d overflow pages", whole-1), "a page within the file")
	}
	rest := b[headerSize:]
	if count == 0xFFFF {
		count, rest = order.Uint64(rest), rest[8:]
	}
	if room := (int64(whole)*f.PageSize - headerSize) / 8; count > uint64(room) {
		return 0, damage(id, fmt.Sprintf("%d free pages", count),
			fmt.Sprintf("at most %d, for which it has room", room))
	}
	before := uint64(1)
	for range count {
		if len(rest) == 0 {
			if err := fill(); err != nil {
				return 0, err
			}
			rest = b
		}
		free := order.Uint64(rest)
		rest = rest[8:]
		if free <= before || free >= f.Pages {
			return 0, damage(id, fmt.Sprintf("free page %d after %d", free, before),
				fmt.Sprintf("ascending numbers from 2 to %d", f.Pages-1))
		}
		if err := found(free); err != nil {
			return 0, err
		}
		before = free
	}
	return whole, nil
}
