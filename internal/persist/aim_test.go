// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"
)

// aim is a byte of a file, and what it is for.
type aim struct {
	kind string // bucket, kind of page, and field, such as "writers/branch/key"
	at   int
}

var aimPage = os.Getpagesize() // bbolt's page size

// aims lists the bytes of a whole file of this program that bbolt reads: of its meta
// pages, the list of free pages, and each branch, leaf and inline page of each bucket.
func aims(t testing.TB, content []byte) (all []aim) {
	t.Helper()
	order := binary.NativeEndian
	add := func(kind string, at, n int) {
		for i := range n {
			all = append(all, aim{kind, at + i})
		}
	}
	newest := 0
	if order.Uint64(content[16+48:]) < order.Uint64(content[aimPage+16+48:]) {
		newest = 1
	}
	for n := range 2 {
		kind := "older meta"
		if n == newest {
			kind = "newest meta"
		}
		add(kind+"/header", n*aimPage, 16)
		add(kind+"/content", n*aimPage+16, 64)
	}
	meta := content[newest*aimPage+16:]
	free := int(order.Uint64(meta[32:])) * aimPage
	add("freelist/header", free, 16)
	add("freelist/ids", free+16, 8*int(order.Uint16(content[free+10:])))

	var page func(bucket string, at int)
	elements := func(kind, bucket string, at int) {
		leaf := order.Uint16(content[at+8:]) == 2
		add(kind+"/header", at, 16)
		for i := range int(order.Uint16(content[at+10:])) {
			element := at + 16 + 16*i
			field := func(n int) int { return int(order.Uint32(content[element+4*n:])) }
			add(kind+"/element", element, 16)
			if !leaf {
				add(kind+"/key", element+field(0), field(1))
				page(bucket, int(order.Uint64(content[element+8:]))*aimPage)
				continue
			}
			key := element + field(1)
			value := key + field(2)
			add(kind+"/key", key, field(2))
			if field(0) != 1 {
				add(kind+"/value", value, field(3))
				continue
			}
			add(kind+"/bucket", value, 16)
			name := string(content[key:value])
			if root := int(order.Uint64(content[value:])); root != 0 {
				page(name, root*aimPage)
			} else {
				inline := value + 16
				add(name+"/inline/header", inline, 16)
				for i := range int(order.Uint16(content[inline+10:])) {
					element := inline + 16 + 16*i
					size := func(n int) int { return int(order.Uint32(content[element+4*n:])) }
					add(name+"/inline/element", element, 16)
					add(name+"/inline/key", element+size(1), size(2))
					add(name+"/inline/value", element+size(1)+size(2), size(3))
				}
			}
		}
	}
	page = func(bucket string, at int) {
		kind := bucket + "/leaf"
		if order.Uint16(content[at+8:]) == 1 {
			kind = bucket + "/branch"
		}
		elements(kind, bucket, at)
	}
	page("root", int(order.Uint64(meta[16:]))*aimPage)
	return all
}

func flipped(content []byte, at int, bits byte) []byte {
	changed := bytes.Clone(content)
	changed[at] ^= bits
	return changed
}

// writeByte changes a file that may be in use.
func writeByte(t testing.TB, path string, at int, b byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// kinds groups aims.
func kinds(all []aim) map[string][]int {
	by := map[string][]int{}
	for _, a := range all {
		by[a.kind] = append(by[a.kind], a.at)
	}
	return by
}

func (a aim) String() string {
	return fmt.Sprintf("%s, byte %d of page %d", a.kind, a.at%aimPage, a.at/aimPage)
}
