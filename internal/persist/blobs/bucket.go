// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// ahead is how many bytes are read at once: a few requests read a block of an encrypted file.
const ahead = 512 << 10

// bucket is a place of an object store.
type bucket struct {
	*minio.Client
	name, prefix string
}

// bucketAt reads a place of S3. Who may use it is said by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, by
// ~/.aws/credentials, or by the machine that it runs on.
func bucketAt(place string) (Place, error) {
	const allowed = "allowed: s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION, of which all but the " +
		"bucket may be left out"
	if all, _ := url.QueryUnescape(place); strings.Contains(place+all, "@") {
		return nil, errors.New("a place of S3 with @, which may have a secret and is not shown; " + allowed +
			"; what is secret stands in AWS_SECRET_ACCESS_KEY")
	}
	wrong := func(what string, err error) error {
		var u *url.Error
		if errors.As(err, &u) {
			what += ": " + u.Err.Error() // without the URL
		}
		begins, _, _ := strings.Cut(place, "?")
		return fmt.Errorf("%s: %s; %s", begins, what, allowed)
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil, wrong("no URL", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return nil, wrong(err.Error(), nil)
	case u.Scheme != "s3":
		return nil, wrong(u.Scheme+" is unknown", nil)
	case u.Fragment != "":
		return nil, wrong(fmt.Sprintf("%q after #", u.Fragment), nil)
	case u.Host == "" || u.Port() != "":
		return nil, wrong(fmt.Sprintf("bucket %q", u.Host), nil)
	}
	for name, values := range query {
		if name != "endpoint" && name != "region" {
			return nil, wrong(name+" is unknown", nil)
		}
		if len(values) > 1 {
			return nil, wrong(fmt.Sprintf("%s is given %d times", name, len(values)), nil)
		}
	}
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	if e := query.Get("endpoint"); e != "" {
		endpoint, err = url.Parse(e)
		if err != nil {
			return nil, wrong("endpoint", err)
		}
		only := url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}
		if only.Host == "" || strings.TrimSuffix(e, "/") != only.String() || only.Scheme != "https" &&
			only.Scheme != "http" {
			begins, _, _ := strings.Cut(e, "?")
			return nil, wrong("endpoint "+begins, nil)
		}
	}
	region := query.Get("region")
	if region == "" {
		region = "us-east-1"
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		Secure: endpoint.Scheme == "https", Region: region, MaxRetries: 3,
		Transport: http.DefaultTransport, // whose connections are used again
	})
	if err != nil {
		return nil, wrong(err.Error(), nil)
	}
	b := bucket{Client: client, name: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	return b, nil
}

// failed says where something failed; what is not there is fs.ErrNotExist.
func (b bucket) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchKey:
		err = fs.ErrNotExist
	case minio.PreconditionFailed:
		err = ErrExists
	}
	return fmt.Errorf("s3://%s/%s%s: %w", b.name, b.prefix, name, err)
}

// Make implements Place.
func (b bucket) Make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	there, err := b.BucketExists(ctx, b.name)
	if err == nil && !there {
		err = errors.New("there is no such bucket: make it, for the daemon alone")
	}
	return b.failed("", err)
}

// Put implements Place.
func (b bucket) Put(ctx context.Context, name string, content []byte) error {
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	options.SetMatchETagExcept("*")
	_, err := b.PutObject(call, b.name, b.prefix+name, bytes.NewReader(content), int64(len(content)), options)
	if err != nil {
		return b.failed(name, err)
	}
	return same(ctx, b, name, content)
}

// Open implements Place.
func (b bucket) Open(ctx context.Context, name string) (File, error) {
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := b.StatObject(call, b.name, b.prefix+name, minio.StatObjectOptions{})
	if err != nil {
		return nil, b.failed(name, err)
	}
	return &object{bucket: b, ctx: ctx, key: name, size: info.Size}, nil
}

// List implements Place.
func (b bucket) List(ctx context.Context, suffix string) (names []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(patience, cancel) // after the part that came last: there may be many
	defer late.Stop()
	for o := range b.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix}) {
		late.Reset(patience)
		if o.Err != nil {
			return nil, b.failed("", o.Err)
		}
		if name := strings.TrimPrefix(o.Key, b.prefix); strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	if err := ctx.Err(); err != nil { // some may be missing
		return nil, b.failed("", err)
	}
	slices.Sort(names)
	return names, nil
}

// object is a file of a bucket. It is not for concurrent use.
type object struct {
	bucket
	ctx  context.Context // of its reads
	key  string
	size int64

	from int64 // where part begins
	part []byte
}

// Size implements File.
func (o *object) Size() int64 { return o.size }

// Close implements File.
func (o *object) Close() error { return nil }

// ReadAt implements File.
func (o *object) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) && err == nil {
		if at < o.from || at >= o.from+int64(len(o.part)) {
			if at >= o.size {
				return n, io.EOF
			}
			if o.part, err = o.read(at, min(o.size-at, max(ahead, int64(len(p)-n)))); err != nil {
				return n, o.failed(o.key, err)
			}
			o.from = at
		}
		m := copy(p[n:], o.part[at-o.from:])
		n, at = n+m, at+int64(m)
	}
	return n, err
}

func (o *object) read(at, n int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(o.ctx, patience)
	defer cancel()
	var options minio.GetObjectOptions
	if err := options.SetRange(at, at+n-1); err != nil {
		return nil, err
	}
	content, _, _, err := (&minio.Core{Client: o.Client}).GetObject(ctx, o.name, o.prefix+o.key, options)
	if err != nil {
		return nil, err
	}
	part := make([]byte, n)
	_, err = io.ReadFull(content, part)
	return part, errors.Join(err, content.Close())
}
