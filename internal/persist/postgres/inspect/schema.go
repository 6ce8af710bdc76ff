// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed migrations/*.sql
var migrations embed.FS

// VersionsTable is where the database has the versions of its tables.
const VersionsTable = "schema_version"

// Scripts are the files that make the tables, a version each.
func Scripts() fs.FS {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name is one of those that are embedded
	}
	return scripts
}

// makesTable finds the tables and views that a script makes.
var makesTable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^CREATE (?:TABLE|VIEW) (\w+)`) })

// Tables are the names of the tables and views in which the ledgers are, as the scripts make them.
func Tables() (names []string) {
	err := fs.WalkDir(Scripts(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(Scripts(), path)
		for _, found := range makesTable().FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
		return err
	})
	if err != nil {
		panic(err) // they are embedded
	}
	return names
}

// NewestVersion returns the newest version that this program knows.
func NewestVersion() (newest int64) {
	names, err := fs.Glob(Scripts(), "*.sql")
	if err != nil {
		panic(err) // the pattern is right
	}
	for _, name := range names {
		var version int64
		if _, err := fmt.Sscanf(name, "%d_", &version); err != nil {
			panic(err) // a test reads all names
		}
		newest = max(newest, version)
	}
	return newest
}

// ourTable is whether the table of versions is there. Other programs have one of the same name.
const ourTable = "EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema() " +
	"AND table_name = '" + VersionsTable + "' AND column_name = 'version_id')"

// StoredVersion returns the version of a database's tables, by a function that asks for one value. It is 0 if there
// are none.
func StoredVersion(ask func(sql string, to any) error) (version int64, err error) {
	var there bool
	if err := ask("SELECT "+ourTable, &there); err != nil || !there {
		return 0, err
	}
	err = ask("SELECT coalesce(max(version_id), 0) FROM "+VersionsTable+" WHERE is_applied", &version)
	return version, err
}

// FreeOfOthers returns why no tables may be made in a database in which StoredVersion has found none, or nil. Which
// schema is meant depends on the user's search_path and on which schemas there are. Both may have changed since the
// tables were made, and beside them an empty store would begin in which nothing is charged.
func FreeOfOthers(ask func(sql string, to any) error) error {
	var here, other string
	if err := ask("SELECT coalesce(current_schema(), '')", &here); err != nil {
		return err
	}
	if here == "" {
		return errors.New("the search_path of the database's user names no schema that exists; allowed: " +
			"ALTER ROLE … SET search_path = public, or another schema that the user may create tables in")
	}
	// The table of versions is made before the others, so alone it is in nobody's way if it is one of ours.
	foreign := "SELECT coalesce(min(tablename), '') FROM pg_catalog.pg_tables WHERE schemaname = current_schema() " +
		"AND (tablename IN ('" + strings.Join(Tables(), "', '") + "') " +
		"OR tablename = '" + VersionsTable + "' AND NOT " + ourTable + ")"
	if err := ask(foreign, &other); err != nil {
		return err
	}
	if other != "" {
		return fmt.Errorf("the schema %s has a table %s already, and not all tables of this program: it is another "+
			"program's, or some were removed; allowed: an empty database, or one with all tables", here, other)
	}
	const find = "SELECT coalesce(min(v.schemaname), '') FROM pg_catalog.pg_tables v JOIN pg_catalog.pg_tables p " +
		"ON p.schemaname = v.schemaname AND p.tablename = 'packs' WHERE v.tablename = '" + VersionsTable + "'"
	if err := ask(find, &other); err != nil || other == "" {
		return err
	}
	return fmt.Errorf("the schema %s, which the search_path of the database's user leads to, has no ledgers, but the "+
		"schema %s has; allowed: a search_path that leads to %s first (ALTER ROLE … SET search_path = %s), or for "+
		"new ledgers another database", here, other, other, other)
}
