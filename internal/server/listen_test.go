// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/testaid"
)

func TestConfigCheck(t *testing.T) {
	for _, c := range []struct {
		config server.Config
		field  string // "" if it is good
		wants  string
	}{
		{server.Config{Listen: []string{"127.0.0.1:0"}, HTTP: "[::1]:0"}, "", ""},
		{server.Config{Listen: []string{"127.1.2.3:7878"}}, "", ""},
		{server.Config{}, "", ""},
		{server.Config{Listen: []string{"0.0.0.0:7878"}, Insecure: true}, "", ""},
		{server.Config{Listen: []string{"0.0.0.0:7878"}}, "listen", "--insecure"},
		{server.Config{Listen: []string{":7878"}}, "listen", "--insecure"},
		{server.Config{Listen: []string{"[::]:7878"}}, "listen", "--insecure"},
		{server.Config{Listen: []string{"192.0.2.1:7878"}}, "listen", "--insecure"},
		{server.Config{HTTP: "0.0.0.0:7879"}, "http", "--insecure"},
		{server.Config{Listen: []string{"7878"}}, "listen", "host:port"},
		{server.Config{Listen: []string{"127.0.0.1:70000"}}, "listen", "host:port"},
		{server.Config{Listen: []string{"127.0.0.1:0"}, Socket: "/" + strings.Repeat("s", 107)},
			"socket", "at most 107 bytes"},
	} {
		err := c.config.Check()
		if c.field == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.config, err)
			}
			continue
		}
		var wrong *endpoint.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != c.field || !strings.Contains(wrong.Allowed, c.wants) {
			t.Errorf("%+v: %v; want %s, allowed %s", c.config, err, c.field, c.wants)
		}
	}
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string { return testaid.ShortDir(t) }
