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
	for name, nearest := range map[string]string{"SEVER": "SERVER", "TLS_CRT": "TLS_CERT", "LISTN": "LISTEN",
		"DATA_DIR": "DATA", "LOGLEVEL": "LOG_LEVEL", "TLS_CLIENTCA": "TLS_CLIENT_CA"} {
		got := Misspelt([]string{"A=b", Prefix + name + "=secret"})
		if len(got) != 1 || !strings.Contains(got[0], `"ACCOUNTANT_`+name+`" is not read`) ||
			!strings.HasSuffix(got[0], ": ACCOUNTANT_"+nearest) || strings.Contains(got[0], "secret") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !slices.IsSorted(variables) {
		t.Error("variables are not sorted")
	}
}
