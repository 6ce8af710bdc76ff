// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// entry is a file in an archive.
type entry struct {
	name string
	mode fs.FileMode
	body []byte
}

// documents go with the programs into every archive.
var documents = map[string]string{
	"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
	"cli.md": "docs/cli.md", "accountantd.service": "deploy/systemd/accountantd.service",
}

// archive packs the programs with the documents: as .tar.gz, or for Windows as .zip.
func (r *release) archive(p platform, programs map[string]string) error {
	var entries []entry
	add := func(name, file string, mode fs.FileMode) error {
		body, err := os.ReadFile(file)
		entries = append(entries, entry{path.Join(r.name(p), name), mode, body})
		return err
	}
	for _, name := range sorted(programs) {
		if err := add(name, programs[name], 0o755); err != nil {
			return err
		}
	}
	for _, name := range sorted(documents) {
		if err := add(name, filepath.Join(r.root, documents[name]), 0o644); err != nil {
			return err
		}
	}
	out := filepath.Join(r.dist, r.name(p))
	if p.goos == "windows" {
		return writeFile(out+".zip", func(w io.Writer) error { return writeZip(w, entries, r.date) })
	}
	return writeFile(out+".tar.gz", func(w io.Writer) error { return writeTar(w, entries, r.date) })
}

// debian makes a package of a Linux platform: the programs, the systemd unit, and the user that
// it runs as.
func (r *release) debian(p platform, programs map[string]string) error {
	if p.goos != "linux" {
		return nil
	}
	unit, err := os.ReadFile(filepath.Join(r.root, "deploy/systemd/accountantd.service"))
	if err != nil {
		return err
	}
	unit = bytes.ReplaceAll(unit, []byte("/usr/local/"), []byte("/usr/"))
	unitFile := filepath.Join(r.work(), "accountantd.service")
	if err := os.WriteFile(unitFile, unit, 0o644); err != nil {
		return err
	}
	at := func(source, destination string, mode fs.FileMode) *files.Content {
		return &files.Content{
			Source: source, Destination: destination,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.date, Owner: "root", Group: "root"},
		}
	}
	contents := files.Contents{
		at(unitFile, "/usr/lib/systemd/system/accountantd.service", 0o644),
		at(filepath.Join(r.root, "docs/cli.md"), "/usr/share/doc/privacy-accountant/cli.md", 0o644),
		at(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/privacy-accountant/copyright", 0o644),
	}
	for _, name := range sorted(programs) {
		contents = append(contents, at(programs[name], "/usr/bin/"+name, 0o755))
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "privacy-accountant", Arch: p.goarch, Platform: "linux", Version: r.version, MTime: r.date,
		Maintainer: "The privacy accountant's maintainers <maintainers@dpaccountant.invalid>",
		Description: "Ledgers of differentially private releases\n" +
			"accountantd keeps the privacy budgets of datasets and answers with the tightest proven\n" +
			"(epsilon, delta). accountctl asks and manages it.",
		Section: "science", Priority: "optional", License: "Apache-2.0",
		Overridables: nfpm.Overridables{
			Contents: contents, Depends: []string{"passwd"},
			Scripts: nfpm.Scripts{PostInstall: filepath.Join(r.root, "deploy/debian/postinst")},
		},
	})
	return writeFile(filepath.Join(r.dist, r.name(p)+".deb"),
		func(w io.Writer) error { return deb.Default.Package(info, w) })
}

func writeTar(w io.Writer, entries []entry, date time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: int64(len(e.body)),
			ModTime: date, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.body); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, entries []entry, date time.Time) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.body); err != nil {
			return err
		}
	}
	return z.Close()
}

// readTar reads the files of a .tar.gz.
func readTar(b []byte) ([]entry, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			entries = append(entries, entry{h.Name, h.FileInfo().Mode().Perm(), body})
		}
	}
}

// writeFile makes a file of what write writes.
func writeFile(name string, write func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}
