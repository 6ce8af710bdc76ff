// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/webhook"
)

// webhooks are the flags that say whom to tell of what waits for people.
type webhooks struct {
	addresses []string
	secrets   string
}

func (w *webhooks) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&w.addresses, "webhook", nil, "`addresses` to which signed messages are posted when something "+
		"waits for approval, a budget is nearly used or refuses a charge (docs/webhooks.md), separated by commas or "+
		"given again; https, or http on this machine")
	f.StringVar(&w.secrets, "webhook-secret-file", "", "`file` with the secret that signs them, whsec_ and base64; "+
		"while it is replaced a second line has the old one")
}

// config reads the file. The error is an *endpoint.ConfigError.
func (w *webhooks) config() (c webhook.Config, err error) {
	if len(w.addresses) == 0 && w.secrets == "" {
		return c, nil
	}
	for _, text := range w.addresses {
		address, err := webhook.ParseAddress(text)
		if err != nil {
			return c, &endpoint.ConfigError{Field: "webhook", Value: "an address that is not repeated here, as it " +
				"may hold a password", Allowed: err.Error()}
		}
		c.Addresses = append(c.Addresses, address)
	}
	if len(c.Addresses) == 0 {
		return c, &endpoint.ConfigError{Field: "webhook", Value: "not given, with --webhook-secret-file",
			Allowed: "an address to which messages are posted"}
	}
	file, err := os.ReadFile(w.secrets)
	if err == nil {
		c.Secrets, err = webhook.ParseSecrets(file)
	}
	if err != nil {
		return c, &endpoint.ConfigError{Field: "webhook-secret-file", Value: fmt.Sprintf("%q (%v)", w.secrets, err),
			Allowed: "a file with whsec_ and 24 to 64 bytes in base64, as of: echo whsec_$(head -c 32 /dev/urandom | " +
				"base64)"}
	}
	return c, nil
}
