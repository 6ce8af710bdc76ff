// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func head(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "head NAME [--public-key KEY]",
		Short: "Get the daemon's signature under a ledger's head",
		Long: `Get a ledger's head, position and hash, signed by the daemon with its own key. Kept
elsewhere, the json output shows later, with "accountctl verify --signed-head", if
the ledger was edited or rolled back. The first time keep the public key as well:
with --public-key only statements under that one are accepted.`,
		Example: `  accountctl head team/mnist --output json > mnist.head
  accountctl head team/mnist --public-key 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
	}
	key := publicKeyFlag(c)
	request := &accountantv1.GetSignedHeadRequest{}
	var trusted ed25519.PublicKey
	call := calls.Call[*accountantv1.GetSignedHeadResponse]{
		Request: request,
		Read: func(c *cobra.Command, _ []string) (err error) {
			trusted, err = publicKey(c, *key)
			return err
		},
		Ask: func(ctx context.Context, daemon *client.Client) (*accountantv1.GetSignedHeadResponse, error) {
			h, err := daemon.SignedHead(ctx, request.GetLedger())
			if err != nil {
				return nil, err
			}
			if err := client.VerifySignedHead(h, trusted); err != nil {
				return nil, fmt.Errorf("signed head of %s: %v", request.GetLedger(), err) // not the user's mistake
			}
			return &accountantv1.GetSignedHeadResponse{SignedHead: h}, nil
		},
		Show: func(p *cli.Program, _ string, a *accountantv1.GetSignedHeadResponse) error {
			h := a.GetSignedHead()
			p.Properties([][2]string{
				{"ledger", h.GetLedger()},
				{"position", fmt.Sprint(h.GetPosition())},
				{"head", hex.EncodeToString(h.GetHeadHash())},
				{"store", h.GetStoreId()},
				{"time", spelling.Time(h.GetTime())},
				{"public key", hex.EncodeToString(h.GetPublicKey())},
				{"signature", hex.EncodeToString(h.GetSignature())},
			})
			return nil
		},
	}
	return call.Command(p, c)
}

func publicKeyFlag(c *cobra.Command) *string {
	return c.Flags().String("public-key", "",
		"the daemon's public key, 32 bytes in hexadecimal or base64: signed heads must be signed by it")
}

// publicKey reads the value of --public-key; nil without.
func publicKey(c *cobra.Command, text string) (ed25519.PublicKey, error) {
	if !c.Flags().Changed("public-key") {
		return nil, nil
	}
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString} {
		if b, err := decode(text); err == nil && len(b) == ed25519.PublicKeySize {
			return b, nil
		}
	}
	return nil, cli.Usage(c, "--public-key: %q; allowed: %d bytes in hexadecimal or base64",
		text, ed25519.PublicKeySize)
}
