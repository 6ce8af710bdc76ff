// SPDX-License-Identifier: Apache-2.0

// Package blobs keeps files that never change, in a directory or in a bucket of an object store that speaks S3, and
// encrypts them if there is a key.
package blobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpaccountant/accountant/internal/durable"
)

// Place is where files are. A place of S3 is written s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION.
type Place interface {
	// Make makes the place, if there is none; a bucket must be there.
	Make() error
	// Put makes a new file durable, and returns once all of it was read back and is the same. If there is one of that
	// name, it is ErrExists.
	Put(name string, content []byte) error
	// Open opens a file to read parts of it. A file that is not there is fs.ErrNotExist.
	Open(name string) (File, error)
	// List returns the names of all files that end with a suffix, sorted.
	List(suffix string) ([]string, error)
}

// File is open.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// ErrExists is a file that is there already.
var ErrExists = errors.New("it is there already")

// IsBucket reports whether a place is written as one of S3, or as another URL, which At refuses: no directory is made
// of it. A drive's letter begins no URL.
func IsBucket(place string) bool {
	slash := strings.IndexByte(place, '/')
	return slash > 2 && place[slash-1] == ':'
}

// At returns a place. Nothing is read yet.
func At(place string) (Place, error) {
	if IsBucket(place) {
		return bucketAt(place)
	}
	return Dir(place), nil
}

// Full makes a directory's path absolute.
func Full(place string) (string, error) {
	if IsBucket(place) {
		return place, nil
	}
	return filepath.Abs(place)
}

// Read returns all of a file.
func Read(p Place, name string) ([]byte, error) {
	f, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	content := make([]byte, f.Size())
	_, err = io.ReadFull(io.NewSectionReader(f, 0, f.Size()), content)
	return content, errors.Join(err, f.Close())
}

// same compares a file with what was written to it.
func same(p Place, name string, content []byte) error {
	again, err := Read(p, name)
	if err == nil && !bytes.Equal(again, content) {
		err = fmt.Errorf("%s: what was written is not what is read: look at the disk", name)
	}
	return err
}

// Dir is a directory.
type Dir string

// Make implements Place. Only its owner may enter a directory that is made.
func (d Dir) Make() error { return durable.MakeDirectory(string(d)) }

// Put implements Place.
func (d Dir) Put(name string, content []byte) error {
	path := filepath.Join(string(d), name)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, ErrExists)
	}
	if err := durable.WriteFile(path, content); err != nil {
		return err
	}
	return same(d, name, content)
}

// Open implements Place.
func (d Dir) Open(name string) (File, error) {
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened{f, info.Size()}, nil
}

type opened struct {
	*os.File
	size int64
}

func (o opened) Size() int64 { return o.size }

// List implements Place.
func (d Dir) List(suffix string) (names []string, err error) {
	files, err := os.ReadDir(string(d))
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			names = append(names, f.Name())
		}
	}
	return names, err
}
