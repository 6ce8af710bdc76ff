// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// backupChunk is the number of bytes of the copy in one message.
const backupChunk = 256 << 10

// copier is a store that can be copied while it serves. The copy is a file, with its size in
// bytes.
type copier interface {
	Backup() (content io.ReadCloser, size int64, err error)
}

// moved returns why a store that was moved away is not used any more, or nil.
func moved(store ledger.Store) error {
	if m, ok := store.(interface{ Moved() error }); ok {
		return m.Moved()
	}
	return nil
}

// backupSender sends copies of a store to clients, one at a time.
type backupSender struct {
	Store    ledger.Store
	Draining context.Context //nolint:containedctx // ends when the server stops
	Drained  error           // of copies that are then under way
	// Copied is called after each attempt to make a copy, with when it began and how large the copy is. Sent is
	// called once all of a copy was sent.
	Copied func(start time.Time, size int64, err error)
	Sent   func(ctx context.Context, sent *pb.StoreBackup)

	copying sync.Mutex // held while a copy is under way
}

// Send answers a request. The copy is made at once and sent from there, so a slow client
// holds up nothing. It ends early when the server stops.
func (s *backupSender) Send(_ *pb.BackupRequest, stream pb.Admin_BackupServer) error {
	store, ok := s.Store.(copier)
	if !ok {
		return status.Error(codes.Unimplemented, "backup: this store cannot be copied while it serves")
	}
	start := time.Now()
	end, err := s.copy(store.Backup, stream)
	if err != nil {
		return err
	}
	if err := stream.Send(&pb.BackupResponse{Message: &pb.BackupResponse_End_{End: end}}); err != nil {
		return err
	}
	s.Sent(stream.Context(), &pb.StoreBackup{Time: timestamppb.New(start), Size: end.GetSize(),
		Sha256: end.GetSha256()})
	return nil
}

// copy sends everything but the final message. Once a client has that message it may ask for
// another backup at once.
func (s *backupSender) copy(copied func() (io.ReadCloser, int64, error),
	stream pb.Admin_BackupServer) (end *pb.BackupResponse_End, err error) {
	if !s.copying.TryLock() {
		return nil, status.Error(codes.Aborted, "backup: another one is under way; allowed: one at a time")
	}
	defer s.copying.Unlock()
	start := time.Now()
	content, size, err := copied()
	s.Copied(start, size, err)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if err := stream.Send(&pb.BackupResponse{Message: &pb.BackupResponse_Begin_{
		Begin: &pb.BackupResponse_Begin{Size: uint64(size), StoreId: s.Store.ID()}}}); err != nil {
		return nil, err
	}
	sum := sha256.New()
	err = s.chunks(stream.Context(), io.TeeReader(content, sum), func(chunk []byte) error {
		return stream.Send(&pb.BackupResponse{Message: &pb.BackupResponse_Chunk{Chunk: chunk}})
	})
	return &pb.BackupResponse_End{Size: uint64(size), Sha256: sum.Sum(nil)}, err
}

// chunks reads content to its end in chunks. Each chunk has memory of its own, because gRPC may
// still hold the one before.
func (s *backupSender) chunks(ctx context.Context, content io.Reader, chunk func([]byte) error) error {
	for {
		if s.Draining.Err() != nil {
			return s.Drained
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		b := make([]byte, backupChunk)
		n, err := io.ReadFull(content, b)
		if n > 0 {
			if err := chunk(b[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}
