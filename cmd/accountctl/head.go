package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) head() *cobra.Command {
	c := &cobra.Command{
		Use:   "head NAME",
		Short: "Get the daemon's signature under a ledger's head",
		Long: `Get a ledger's head, position and hash, signed by the daemon with its own key. Kept
elsewhere, the json output shows later, with "accountctl verify --signed-head", if
the ledger was edited or rolled back. The first time keep the public key as well:
with --public-key only statements under that one are accepted.`,
		Example: `  accountctl head team/mnist --output json > mnist.head
  accountctl head team/mnist --public-key 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		Args:              names("NAME"),
		ValidArgsFunction: p.completeLedger,
	}
	key := publicKeyFlag(c)
	output := outputFlag(c, formatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		trusted, err := publicKey(c, *key)
		if err != nil {
			return err
		}
		h, err := ask(p, c, func(ctx context.Context, daemon *client.Client) (*accountantv1.SignedHead, error) {
			return daemon.SignedHead(ctx, args[0])
		})
		if err != nil {
			return err
		}
		if err := client.VerifySignedHead(h, trusted); err != nil {
			return fmt.Errorf("signed head of %s: %v", args[0], err) // not the user's mistake
		}
		if output.value == formatJSON {
			return p.writeJSON(&accountantv1.GetSignedHeadResponse{SignedHead: h})
		}
		t := p.table()
		t.row("ledger", h.GetLedger())
		t.row("position", h.GetPosition())
		t.row("head", hex.EncodeToString(h.GetHeadHash()))
		t.row("store", h.GetStoreId())
		t.row("time", timeText(h.GetTime()))
		t.row("public key", hex.EncodeToString(h.GetPublicKey()))
		t.row("signature", hex.EncodeToString(h.GetSignature()))
		return t.flush()
	}
	return c
}

func publicKeyFlag(c *cobra.Command) *string {
	return c.Flags().String("public-key", "", "the daemon's public key, 32 bytes in hexadecimal or base64: signed heads must be signed by it")
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
	return nil, usage(c, "--public-key: %q; allowed: %d bytes in hexadecimal or base64", text, ed25519.PublicKeySize)
}
