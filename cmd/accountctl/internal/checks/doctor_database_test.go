// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/server/signing"
)

// looks has the doctor look at a database, and compares what it finds: of each check "RESULT text", where the text
// is a part of the finding or its advice.
func looks(t *testing.T, d database, status int, want map[string]string) {
	t.Helper()
	found, err := d.examine(t.Context())
	if got := cli.ExitStatus(err); got != status {
		t.Errorf("exit status %d, %v; want %d", got, err, status)
	}
	seen := map[string]bool{}
	for _, f := range found {
		result, text, _ := strings.Cut(cmp.Or(want[f.Check], f.Result), " ")
		if f.Result != result || !strings.Contains(f.Detail+"; "+f.Advice, text) {
			t.Errorf("%+v; want %s", f, want[f.Check])
		}
		if seen[f.Check] = true; (f.Advice == "") != (f.Result == foundOK) {
			t.Errorf("%+v: what is not ok says what to do", f)
		}
	}
	for check := range want {
		if !seen[check] {
			t.Errorf("nothing is found about %s: %+v", check, found)
		}
	}
}

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func at(url string) database { return database{Address: reach.Address{URL: url}} }

func execute(t *testing.T, url string, all ...string) {
	t.Helper()
	ctx := context.Background() // also when the test is over
	c, err := reach.Address{URL: url}.Connect(ctx, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	for _, sql := range all {
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// A primary that never syncs and has no standby promises nothing, and each state of its database is told.
func TestDoctorOfADatabase(t *testing.T) {
	url := pgtest.Database(t)
	looks(t, at(url), 1, map[string]string{
		"database": "ok PostgreSQL", "crash": "fail fsync and full_page_writes off",
		"standby": "warn synchronous_standby_names is empty", "commit": "ok each daemon asks for on",
		"checksums": "warn data_checksums is off", "tables": "warn start a daemon", "clocks": "ok give or take",
		"user": "warn superuser", "pooler": "ok none", "connection": "ok without TLS", "sessions": "ok are free"})
	store := open(t, url)
	looks(t, at(url), 1, map[string]string{"tables": "ok version 1", "store": "ok " + store.ID()})

	key := filepath.Join(t.TempDir(), "signing.key")
	with := at(url)
	with.signingKey = key
	looks(t, with, 1, map[string]string{"signing key": "ok first daemon that starts"})
	if _, err := signing.Key(key); err != nil {
		t.Fatal(err)
	}
	sum, err := keyFingerprint(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.BindKey(rows.BoundKey{Fingerprint: sum, Since: time.Now()}); err != nil {
		t.Fatal(err)
	}
	looks(t, with, 1, map[string]string{"signing key": "ok to which the store is bound"})
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	looks(t, with, 1, map[string]string{"signing key": "fail is not there"})
	if _, err := signing.Key(key); err != nil {
		t.Fatal(err)
	}
	looks(t, with, 1, map[string]string{"signing key": fmt.Sprintf("fail bound to %x", sum)})

	name := strings.TrimSuffix(url[strings.LastIndex(url, "/")+1:], "?sslmode=disable")
	role := "clerk_" + name // of this database alone
	clerk := at(strings.Replace(url, pgtest.User+"@", role+"@", 1))
	execute(t, url, "CREATE ROLE "+role+" LOGIN")
	t.Cleanup(func() { execute(t, url, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	looks(t, clerk, 1, map[string]string{"user": "fail SELECT on heads", "tables": "warn not read"})
	execute(t, url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	looks(t, clerk, 1, map[string]string{"user": "warn belong to somebody else", "store": "ok " + store.ID()})
	execute(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT 3")
	looks(t, clerk, 1, map[string]string{"sessions": "warn of 3 are free (CONNECTION LIMIT of the user)"})
	execute(t, url, "ALTER ROLE "+role+" CONNECTION LIMIT -1", "ALTER DATABASE "+name+" CONNECTION LIMIT 5")
	looks(t, clerk, 1, map[string]string{"sessions": "warn raise the CONNECTION LIMIT of the database"})
	execute(t, url, "ALTER ROLE "+role+" SET search_path = nowhere")
	looks(t, clerk, 1, map[string]string{"user": "fail search_path"})

	looks(t, at(url), 1, map[string]string{"room": "ok"})
	execute(t, url, "ALTER TABLE tail SET (autovacuum_enabled = off)")
	looks(t, at(url), 1, map[string]string{"room": "warn autovacuum is off for tail"})
	execute(t, url, "ALTER TABLE tail RESET (autovacuum_enabled)", "INSERT INTO tail (number, last, value, written) "+
		"VALUES (4711, 1, '', now() - interval '2 hours')")
	looks(t, at(url), 1, map[string]string{"room": "warn not merged"})
	execute(t, url, "DELETE FROM tail WHERE number = 4711")
	if err := postgres.Leave(postgres.Config{URL: url}, rows.Left{At: time.Now(), To: "/data"}); err != nil {
		t.Fatal(err)
	}
	looks(t, at(url), 1, map[string]string{"store": "fail were moved to /data"})
	execute(t, url, "INSERT INTO schema_version (version_id, is_applied) VALUES (4711, true)")
	looks(t, at(url), 1, map[string]string{"tables": "fail version 4711, of a newer version"})
}

// A primary with a synchronous standby, TLS and a user of its own has nothing to be mended; what is taken away from
// that is told.
func TestDoctorOfAFleetsDatabase(t *testing.T) {
	authority := servertest.NewAuthority(t)
	cert, private := authority.Issue("server", nil)
	read := func(path string) []byte {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	primary := pgtest.Start(t, pgtest.Config{Fsync: true, Synchronous: true, Password: "right",
		Settings: map[string]string{"ssl": "on"},
		Files:    map[string][]byte{"server.crt": read(cert), "server.key": read(private)}})
	for _, sql := range []string{"CREATE ROLE clerk LOGIN PASSWORD 'right'", "CREATE DATABASE ledgers OWNER clerk"} {
		if err := primary.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	password := func(text string) string {
		file := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	url := func(port int) string {
		return fmt.Sprintf("postgres://clerk@127.0.0.1:%d/ledgers?sslmode=verify-full&sslrootcert=%s", port,
			authority.File)
	}
	d := database{Address: reach.Address{URL: url(primary.Port), PasswordFile: password("right")}}
	store, err := postgres.Open(postgres.Config{URL: d.URL, PasswordFile: d.PasswordFile})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	looks(t, d, 0, map[string]string{"connection": "ok TLS", "server certificate": "ok valid until",
		"user":  "ok clerk may",
		"crash": "ok survives a crash", "standby": "warn GRANT pg_monitor", "pooler": "ok none"})
	if err := primary.Exec("GRANT pg_monitor TO clerk"); err != nil {
		t.Fatal(err)
	}
	looks(t, d, 0, map[string]string{"standby": "ok survives the loss", "database": "ok on timeline 1"})

	wrong := d
	wrong.PasswordFile = password("wrong")
	looks(t, wrong, 1, map[string]string{"database": "fail does not accept the password of the user clerk"})
	standby := d
	standby.URL = url(primary.Standby.Port)
	looks(t, standby, 1, map[string]string{"database": "fail it is a standby"})
	both := d
	both.URL = strings.Replace(d.URL, "127.0.0.1:", fmt.Sprintf("127.0.0.1:%d,127.0.0.1:", primary.Standby.Port), 1)
	looks(t, both, 0, map[string]string{"standby": "ok"})

	if err := primary.Standby.Stop(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		facts, err := inspect.Look(t.Context(), d.Address)
		if err == nil && facts.Standbys == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v; want no standby", facts, err)
		}
	}
	looks(t, d, 1, map[string]string{"standby": "fail every charge waits"})
	if err := primary.Stop(); err != nil {
		t.Fatal(err)
	}
	looks(t, d, 4, map[string]string{"database": "fail nobody answers"})
}

// Something between that hands out sessions is noticed, and whether each transaction gets another one.
func TestDoctorFindsAPooler(t *testing.T) {
	url := pgtest.Database(t)
	looks(t, at(pgtest.Pool(t, url, "session")), 1, map[string]string{"pooler": "warn leaves each client its own"})
	looks(t, at(pgtest.Pool(t, url, "transaction")), 1, map[string]string{"pooler": "fail each transaction another"})
}

// Clocks are compared as exactly as the way to the server allows, and no more.
func TestClockFinding(t *testing.T) {
	for _, c := range []struct {
		ahead, within time.Duration
		want, text    string
	}{
		{0, time.Microsecond, foundOK, "0s ahead of this machine's, give or take 1ms"},
		{-900 * time.Millisecond, time.Millisecond, foundOK, "900ms behind this machine's"},
		{3 * time.Second, 2500 * time.Millisecond, foundOK, "3s ahead"},
		{3 * time.Second, 10 * time.Millisecond, foundWarn, "3s ahead"},
		{-26 * time.Hour, time.Second, foundWarn, "26h0m0s behind"},
	} {
		f := clockFinding(inspect.Facts{Promises: inspect.Promises{Ahead: c.ahead, Within: c.within}})
		if f.Result != c.want || !strings.Contains(f.Detail, c.text) {
			t.Errorf("%v ± %v: %+v; want %s %q", c.ahead, c.within, f, c.want, c.text)
		}
	}
}
