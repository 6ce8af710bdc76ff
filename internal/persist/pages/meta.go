// SPDX-License-Identifier: Apache-2.0

package pages

import "hash/fnv"

// bbolt keeps the root of its tree in two meta pages, which it writes in turns. It takes
// the newer one that is valid, and says nothing about the other. A meta follows its
// page's header: magic, version, page size and flags (4 bytes each), root page and
// sequence (8 each), freelist, high water mark, transaction and checksum (8 each), an
// FNV-1a of all before it.
const (
	metaMagic       = 0xED0CDAED
	metaVersion     = 2
	metaFreelist    = 32
	metaTransaction = 48
	metaChecksum    = 56
	metaSize        = 64
)

// meta returns the content of meta page n, 0 or 1. ok: it is valid.
func (f *File) meta(n int) (meta []byte, ok bool, err error) {
	meta = make([]byte, metaSize)
	if err := f.fill(meta, int64(n)*f.PageSize+headerSize); err != nil {
		return nil, false, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(meta[:metaChecksum]) // never fails
	return meta, order.Uint32(meta) == metaMagic && order.Uint32(meta[4:]) == metaVersion &&
		order.Uint64(meta[metaChecksum:]) == sum.Sum64(), nil
}

// DamagedMeta returns which of the two meta pages is invalid, -1 if neither is.
func (f *File) DamagedMeta() (int, error) {
	for n := range 2 {
		if _, ok, err := f.meta(n); err != nil || !ok {
			return n, err
		}
	}
	return -1, nil
}
