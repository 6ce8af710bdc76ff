// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/persist/pages"
)

var names = []string{"empty", "few", "log", "rows", "writers"}

// draw makes a file by random commits, some of which delete: buckets that are empty,
// within a page, and with trees of several levels; values of several pages; free pages.
func draw(t interface {
	Helper()
	Fatal(...any)
}, path string, seed uint64, commits int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	for n := range commits {
		if err := db.Update(func(tx *bolt.Tx) error {
			for _, name := range names {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				if name == "log" {
					b.FillPercent = 0.95
				}
				var some [][]byte
				for range map[string]int{"few": 1, "log": 40, "rows": 60, "writers": 60}[name] {
					key := fmt.Appendf(nil, "%08x%s", random.Uint32()%50_000,
						bytes.Repeat([]byte("w"), random.IntN(60)))
					if name == "few" {
						key = key[:3]
					}
					if name == "log" {
						key = fmt.Appendf(nil, "%08x", n*100+len(some))
					}
					some = append(some, key)
					value := bytes.Repeat([]byte{byte(random.Uint32())}, random.IntN(200))
					if random.IntN(300) == 0 {
						value = make([]byte, random.IntN(30_000))
					}
					if err := b.Put(key, value); err != nil {
						return err
					}
				}
				if name != "log" && random.IntN(2) == 0 {
					c := b.Cursor()
					c.Seek(fmt.Appendf(nil, "%08x", random.Uint32()%50_000))
					for k, _ := c.Next(); k != nil && random.IntN(80) > 0; k, _ = c.Next() {
						if err := c.Delete(); err != nil {
							return err
						}
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// rows are the rows of a file as bbolt reads them.
type rows map[string]string

// opened reads a file with bbolt, and what a check of it needs.
func opened(path string, read func(tx *bolt.Tx, f pages.File) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		size := int64(db.Info().PageSize)
		return read(tx, pages.File{Reader: file, PageSize: size, Pages: uint64(tx.Size() / size),
			Root: uint64(tx.Cursor().Bucket().Root())})
	})
}

func all([]byte) bool { return true }

func check(path string, c pages.Check) error {
	return opened(path, func(tx *bolt.Tx, f pages.File) error {
		c.Transaction = uint64(tx.ID())
		return f.Check(c)
	})
}

// checked returns the rows that a check goes through.
func checked(path string) (found rows, err error) {
	found = rows{}
	return found, check(path, pages.Check{Row: func(bucket, key, value []byte) error {
		found[string(bucket)+"/"+string(key)] = string(value)
		return nil
	}})
}

// trusting reads a file as bbolt does.
func trusting(path string) (found rows, err error) {
	found = rows{}
	return found, opened(path, func(tx *bolt.Tx, _ pages.File) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if len(k) > 1<<20 || len(v) > 1<<20 {
					return errors.New("a size that leads out of the file")
				}
				found[string(name)+"/"+string(k)] = string(v)
				return nil
			})
		})
	})
}

// Files as bbolt writes them are whole, and the check sees bbolt's rows.
func TestWholeFiles(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(t.TempDir(), fmt.Sprint(n, ".db"))
		draw(rt, path, rapid.Uint64().Draw(rt, "seed"), rapid.SampledFrom([]int{0, 1, 2, 5, 30}).Draw(rt, "commits"))
		if err := check(path, pages.Check{Skip: all}); err != nil {
			rt.Fatal(err)
		}
		found, err := checked(path)
		if err != nil {
			rt.Fatal(err)
		}
		want, err := trusting(path)
		if err != nil || !maps.Equal(found, want) {
			rt.Fatalf("%d rows, %d in the check; %v", len(want), len(found), err)
		}
		if err := leaves(path, want); err != nil {
			rt.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			rt.Fatal(err)
		}
	})
}

// leaves goes through all leaves one after the other, and wants each row once.
func leaves(path string, want rows) error {
	return opened(path, func(tx *bolt.Tx, f pages.File) error {
		found := rows{}
		p := pages.Paths{File: f, Row: func(bucket, key, value []byte) error {
			at := string(bucket) + "/" + string(key)
			if _, ok := found[at]; ok {
				return fmt.Errorf("%s twice", at)
			}
			found[at] = string(value)
			return nil
		}}
		for _, name := range names {
			if tx.Bucket([]byte(name)) == nil {
				continue // a file without any
			}
			for key := []byte{}; key != nil; {
				var err error
				if key, err = p.Leaf(name, key); err != nil {
					return err
				}
			}
		}
		if !maps.Equal(found, want) {
			return fmt.Errorf("%d rows, %d on the paths", len(want), len(found))
		}
		return nil
	})
}

// A wrong bit is found, or makes no difference: then bbolt's own check finds nothing
// either, and bbolt reads what it read before.
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	draw(t, path, 7, 6)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := trusting(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	random := rand.New(rand.NewPCG(1, 2))
	number, harmless, byBranches, missed, before := 0, 0, 0, 0, 0
	page := os.Getpagesize()
	for at := 2 * page; at < len(content); at++ {
		if inPage := at % page; inPage >= 48 && random.IntN(300) > 0 || inPage < 48 && random.IntN(8) > 0 {
			continue // mostly headers and the first elements
		}
		number++
		if _, err := file.WriteAt([]byte{content[at] ^ 1<<random.IntN(8)}, int64(at)); err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(content[before:before+1], int64(before)); err != nil { // the one before is mended
			t.Fatal(err)
		}
		before = at
		if check(path, pages.Check{Skip: all}) != nil {
			byBranches++
		}
		found, err := checked(path)
		if err != nil || !maps.Equal(found, want) {
			continue
		}
		harmless++
		if err := bboltsCheck(path); err != nil {
			missed++
			t.Errorf("byte %d of page %d: bbolt finds %v", at%page, at/page, err)
		}
		if read, err := trusting(path); err != nil || !maps.Equal(read, want) {
			missed++
			t.Errorf("byte %d of page %d: bbolt reads %d rows, before %d; %v", at%page, at/page,
				len(read), len(want), err)
		}
		if missed > 5 {
			t.FailNow()
		}
	}
	t.Logf("%d flips: %d without effect, %d found without the leaves", number, harmless, byBranches)
	if number-harmless < 500 || byBranches < 50 {
		t.Error("the flips are too much alike")
	}
}

func bboltsCheck(path string) (err error) {
	return opened(path, func(tx *bolt.Tx, _ pages.File) error {
		for e := range tx.Check() {
			err = errors.Join(err, e)
		}
		return err
	})
}
