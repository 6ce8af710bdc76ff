// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// python builds the Python package's source distribution, and a wheel without programs, from
// which those of the platforms are made. It returns the wheel's file.
func (r *release) python() (pure string, err error) {
	log.Print("building the Python package")
	// A copy, so that nothing of an earlier build is in it.
	source := filepath.Join(r.work(), "python")
	if err := os.CopyFS(source, os.DirFS(filepath.Join(r.root, "python"))); err != nil {
		return "", err
	}
	for _, leftover := range []string{"build", "dist", ".venv", ".venv-stubs", ".mypy_cache"} {
		if err := os.RemoveAll(filepath.Join(source, leftover)); err != nil {
			return "", err
		}
	}
	out := filepath.Join(r.work(), "wheel")
	c := exec.Command("python3", "-m", "build", "--no-isolation", "--outdir", out, source)
	c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("python3 -m build: %w\n%s", err, text)
	}
	sdists, err := filepath.Glob(filepath.Join(out, "*.tar.gz"))
	if err != nil || len(sdists) != 1 {
		return "", fmt.Errorf("%d source distributions in %s: %w", len(sdists), out, err)
	}
	if err := r.sourceDistribution(sdists[0]); err != nil {
		return "", err
	}
	wheels, err := filepath.Glob(filepath.Join(out, "*-py3-none-any.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("%d wheels in %s: %w", len(wheels), out, err)
	}
	return wheels[0], nil
}

// sourceDistribution packs it again, without the times and owners of this machine.
func (r *release) sourceDistribution(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	entries, err := readTar(b)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return writeFile(filepath.Join(r.dist, filepath.Base(file)),
		func(w io.Writer) error { return writeTar(w, entries, r.date) })
}

// wheel adds the platform's programs to the wheel without any, as scripts: an installer puts
// them beside the interpreter, where shells find them. The format is that of the binary
// distribution format of the Python Packaging User Guide, version 1.0.
func (r *release) wheel(p platform, programs map[string]string, pure string) error {
	z, err := zip.OpenReader(pure)
	if err != nil {
		return err
	}
	defer z.Close()
	stem := fmt.Sprintf("privacy_accountant-%s", r.version)
	var entries []entry
	for _, f := range z.File {
		body, err := contents(f)
		if err != nil {
			return err
		}
		switch f.Name {
		case stem + ".dist-info/RECORD":
			continue // it is made anew
		case stem + ".dist-info/WHEEL":
			body = tagged(p)
		}
		entries = append(entries, entry{f.Name, 0o644, body})
	}
	for _, name := range sorted(programs) {
		body, err := os.ReadFile(programs[name])
		if err != nil {
			return err
		}
		entries = append(entries, entry{stem + ".data/scripts/" + name, 0o755, body})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	record, err := recordOf(entries, stem+".dist-info/RECORD")
	if err != nil {
		return err
	}
	entries = append(entries, record)
	name := fmt.Sprintf("%s-py3-none-%s.whl", stem, p.wheel)
	return writeFile(filepath.Join(r.dist, name), func(w io.Writer) error { return writeZip(w, entries, r.date) })
}

func contents(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// tagged is the file WHEEL of a wheel for one platform.
func tagged(p platform) []byte {
	b := bytes.NewBufferString("Wheel-Version: 1.0\nGenerator: privacy-accountant release\nRoot-Is-Purelib: false\n")
	for _, tag := range strings.Split(p.wheel, ".") {
		_, _ = fmt.Fprintf(b, "Tag: py3-none-%s\n", tag)
	}
	return b.Bytes()
}

// recordOf lists a wheel's files with their sizes and checksums.
func recordOf(entries []entry, name string) (entry, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, e := range entries {
		sum := sha256.Sum256(e.body)
		row := []string{e.name, "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(e.body))}
		if err := w.Write(row); err != nil {
			return entry{}, err
		}
	}
	if err := w.Write([]string{name, "", ""}); err != nil {
		return entry{}, err
	}
	w.Flush()
	return entry{name, 0o644, b.Bytes()}, w.Error()
}
