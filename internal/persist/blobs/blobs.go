// SPDX-License-Identifier: Apache-2.0

// Package blobs keeps files that never change, in a directory or in a bucket of an object store that speaks S3, and
// encrypts them if there is a key.
package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/durable"
)

// Place is where files are. A place of S3 is written s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION.
//
// A call ends with its context, and when the place has not answered for patience. Only writing to a directory cannot be
// ended, as nobody could tell what it still does.
type Place interface {
	// Make makes the place, if there is none; a bucket must be there.
	Make(ctx context.Context) error
	// Put makes a new file durable, and returns once all of it was read back and is the same. If there is one of that
	// name, it is ErrExists. After any other error it may be there.
	Put(ctx context.Context, name string, content []byte) error
	// Open opens a file to read parts of it, until ctx ends. A file that is not there is fs.ErrNotExist.
	Open(ctx context.Context, name string) (File, error)
	// List returns the names of all files that end with a suffix, sorted.
	List(ctx context.Context, suffix string) ([]string, error)
}

// patience is how long one call waits for a place. Within that, the library of an object store tries again.
const patience = 30 * time.Second

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
func Read(ctx context.Context, p Place, name string) ([]byte, error) {
	f, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	content := make([]byte, f.Size())
	_, err = io.ReadFull(io.NewSectionReader(f, 0, f.Size()), content)
	return content, errors.Join(err, f.Close())
}

// same compares a file with what was written to it.
func same(ctx context.Context, p Place, name string, content []byte) error {
	again, err := Read(ctx, p, name)
	if err == nil && !bytes.Equal(again, content) {
		err = fmt.Errorf("%s: what was written is not what is read: look at the disk", name)
	}
	return err
}

// Dir is a directory. It may be on another machine, which does not answer.
type Dir string

// asked returns what ask does, or an error once ctx has ended or the directory has not answered for patience. What ask
// returns after that is for drop.
func asked[T any](ctx context.Context, ask func() (T, error), drop func(T)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type answered struct {
		T   T
		err error
	}
	answers := make(chan answered)
	go func() {
		got, err := ask()
		select {
		case answers <- answered{got, err}:
		case <-ctx.Done():
			drop(got)
		}
	}()
	select {
	case got := <-answers:
		return got.T, got.err
	case <-ctx.Done():
		return answer, fmt.Errorf("no answer: %w", ctx.Err())
	}
}

// path is that of a file.
func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Make implements Place. Only its owner may enter a directory that is made.
func (d Dir) Make(ctx context.Context) error {
	_, err := asked(ctx, func() (struct{}, error) { return struct{}{}, durable.MakeDirectory(string(d)) },
		func(struct{}) {})
	return d.named(err)
}

// named says which directory has not answered.
func (d Dir) named(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%s: %w", string(d), err)
	}
	return err
}

// Put implements Place.
func (d Dir) Put(ctx context.Context, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return d.named(err)
	}
	if _, err := os.Lstat(d.path(name)); err == nil {
		return fmt.Errorf("%s: %w", d.path(name), ErrExists)
	}
	if err := durable.WriteFile(d.path(name), content); err != nil {
		return err
	}
	return same(ctx, d, name, content)
}

// Open implements Place.
func (d Dir) Open(ctx context.Context, name string) (File, error) {
	f, err := asked(ctx, func() (*opened, error) { return d.open(ctx, name) }, func(f *opened) {
		if f != nil {
			_ = f.Close()
		}
	})
	if err != nil {
		return nil, d.named(err)
	}
	return f, nil
}

func (d Dir) open(ctx context.Context, name string) (*opened, error) {
	f, err := os.Open(d.path(name))
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
	return &opened{f, d, ctx, info.Size()}, nil
}

// opened is a file of a directory.
type opened struct {
	*os.File
	dir  Dir
	ctx  context.Context // of its reads
	size int64
}

// Size implements File.
func (o *opened) Size() int64 { return o.size }

// ReadAt implements File.
func (o *opened) ReadAt(p []byte, at int64) (int, error) {
	part, err := asked(o.ctx, func() ([]byte, error) { // into memory that nobody else uses
		part := make([]byte, len(p))
		n, err := o.File.ReadAt(part, at)
		return part[:n], err
	}, func([]byte) {})
	return copy(p, part), o.dir.named(err)
}

// List implements Place.
func (d Dir) List(ctx context.Context, suffix string) (names []string, err error) {
	files, err := asked(ctx, func() ([]fs.DirEntry, error) { return os.ReadDir(string(d)) }, func([]fs.DirEntry) {})
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			names = append(names, f.Name())
		}
	}
	return names, d.named(err)
}
