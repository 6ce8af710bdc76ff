// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// SignedHead returns a ledger's head, signed by the daemon. The signature is not checked yet:
// see VerifySignedHead. A head that is kept where the daemon cannot reach it shows later
// whether the ledger was edited or rolled back.
func (c *Client) SignedHead(ctx context.Context, ledger string) (*pb.SignedHead, error) {
	answer, err := ask[*pb.GetSignedHeadResponse](ctx, c, "SignedHead", ledger,
		&pb.GetSignedHeadRequest{Ledger: ledger})
	return answer.GetSignedHead(), err
}

// VerifySignedHead returns nil if h is complete and was signed with the key of trusted. It then
// proves that whoever has that key said that the ledger had this head. If trusted is nil, the
// key inside h is used, and nothing proves who signed.
func VerifySignedHead(h *pb.SignedHead, trusted ed25519.PublicKey) error {
	return wire.CheckSignedHead(h, trusted)
}

// StoreStatus asks when the daemon's store was last verified, and when its newest backup was made. With an access
// policy only auditors of everything may ask.
func (c *Client) StoreStatus(ctx context.Context) (*pb.GetStoreStatusResponse, error) {
	return ask[*pb.GetStoreStatusResponse](ctx, c, "StoreStatus", "", &pb.GetStoreStatusRequest{})
}

// Backup writes a consistent copy of the daemon's store to w. It returns nil once the copy's
// size and SHA-256 are what the daemon says; after an error the copy is of no use. progress is
// called with the number of bytes written so far and the total; it may be nil.
//
// Backup works on the daemon's own socket only. It is not retried, and only ctx bounds its
// time.
func (c *Client) Backup(ctx context.Context, w io.Writer,
	progress func(done, total uint64)) (*pb.BackupResponse_End, error) {
	end, err := c.backup(ctx, w, progress)
	if err != nil {
		return nil, failed("Backup", "", err, c.ended(ctx))
	}
	return end, nil
}

func (c *Client) backup(ctx context.Context, w io.Writer,
	progress func(done, total uint64)) (*pb.BackupResponse_End, error) {
	ctx, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	defer context.AfterFunc(c.alive, cancel)()
	stream, err := c.api.Backup(ctx, &pb.BackupRequest{})
	if err != nil {
		return nil, err
	}
	sum, done, total := sha256.New(), uint64(0), uint64(0)
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, damagedCopy("it ended early")
		}
		if err != nil {
			return nil, err
		}
		switch m := answer.GetMessage().(type) {
		case *pb.BackupResponse_Begin_:
			total = m.Begin.GetSize()
		case *pb.BackupResponse_Chunk:
			if _, err := w.Write(m.Chunk); err != nil {
				return nil, &Error{Op: "Backup", Code: codes.Unknown, Message: err.Error(), cause: err}
			}
			sum.Write(m.Chunk)
			done += uint64(len(m.Chunk))
		case *pb.BackupResponse_End_:
			switch got := sum.Sum(nil); {
			case done != m.End.GetSize() || done != total:
				return nil, damagedCopy(fmt.Sprintf("%d bytes came; the daemon sent %d of %d", done,
					m.End.GetSize(), total))
			case !bytes.Equal(got, m.End.GetSha256()):
				return nil, damagedCopy(fmt.Sprintf("SHA-256 %x; the daemon has %x", got, m.End.GetSha256()))
			}
			return m.End, nil
		}
		if progress != nil {
			progress(done, total)
		}
	}
}

func damagedCopy(how string) error {
	return &Error{Op: "Backup", Code: codes.DataLoss, Message: "the copy was damaged on its way: " + how}
}
