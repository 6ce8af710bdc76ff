// SPDX-License-Identifier: Apache-2.0

package version

import (
	"slices"
	"strings"
	"testing"
)

func TestMisspelt(t *testing.T) {
	kubernetes := []string{"ACCOUNTANT_SERVICE_HOST=10.0.0.1", "ACCOUNTANT_SERVICE_PORT=7878",
		"ACCOUNTANT_SERVICE_PORT_GRPC=7878", "ACCOUNTANT_PORT=tcp://10.0.0.1:7878",
		"ACCOUNTANT_PORT_7878_TCP=tcp://10.0.0.1:7878", "ACCOUNTANT_PORT_7878_TCP_PROTO=tcp",
		"ACCOUNTANT_PORT_7878_TCP_PORT=7878", "ACCOUNTANT_PORT_7878_TCP_ADDR=10.0.0.1",
		"ACCOUNTANT_HEADLESS_SERVICE_HOST=10.0.0.2", "ACCOUNTANT_HEADLESS_PORT_7879_TCP_ADDR=10.0.0.2"}
	if got := Misspelt(append(kubernetes, "ACCOUNTANT_SERVER=x", "ACCOUNTANT_TLS_CLIENT_CA=x", "HOME=/",
		"ACCOUNTANTS_X=1", "")); got != nil {
		t.Errorf("%q", got)
	}
	const help = `; "accountantd --help" and "accountctl --help" say what is`
	for name, says := range map[string]string{
		"SEVER": "; did you mean ACCOUNTANT_SERVER?", "SREVER": "; did you mean ACCOUNTANT_SERVER?",
		"TLS_CRT": "; did you mean ACCOUNTANT_TLS_CERT?", "LISTN": "; did you mean ACCOUNTANT_LISTEN?",
		"DATA_DIR": "; did you mean ACCOUNTANT_DATA?", "LOGLEVEL": "; did you mean ACCOUNTANT_LOG_LEVEL?",
		"TLS_CLIENTCA": "; did you mean ACCOUNTANT_TLS_CLIENT_CA?", "TLS_CAA": "; did you mean ACCOUNTANT_TLS_CA?",
		"TLS_SERVER": "; did you mean ACCOUNTANT_TLS_SERVER_NAME?",
		"SOCKET":     "; did you mean ACCOUNTANT_SOCKET_MODE or ACCOUNTANT_SOCKET_OWNER?",
		"LOG":        "; did you mean ACCOUNTANT_LOG_FORMAT or ACCOUNTANT_LOG_LEVEL?",
		"PASSWORD":   help, "TIMEOUT": help, "X": help, "": help, "HTML": help, "LOG_FILE": help, "USER": help,
		"DATABASE_URL": help, "HOST": help, "TOKENFILE": "; did you mean ACCOUNTANT_TOKEN_FILE?", "BACKUP_DIR": help,
		"EPSILON": help,
	} {
		got := Misspelt([]string{"A=b", Prefix + name + "=secret"})
		if len(got) != 1 || !strings.Contains(got[0], `"ACCOUNTANT_`+name+`" is not read`) ||
			!strings.HasSuffix(got[0], " by anything"+says) || strings.Contains(got[0], "secret") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !slices.IsSorted(variables) {
		t.Error("variables are not sorted")
	}
}
