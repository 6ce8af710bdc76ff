// SPDX-License-Identifier: Apache-2.0

// Command release builds what users install, for every platform, into dist/: archives and Debian
// packages with both programs, wheels of the Python package that contain them, its source
// distribution, a software bill of materials for each platform, and the checksums of all.
//
// Run it as `make release`, in a clean clone. Two runs on one commit with one Go release give
// equal bytes: times are the commit's, lists are sorted, and paths of the machine are left out.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// platforms are those that a release is built for.
var platforms = []platform{
	{goos: "linux", goarch: "amd64", wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{goos: "linux", goarch: "arm64", wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{goos: "darwin", goarch: "amd64", wheel: "macosx_12_0_x86_64"},
	{goos: "darwin", goarch: "arm64", wheel: "macosx_12_0_arm64"},
	{goos: "windows", goarch: "amd64", wheel: "win_amd64"},
}

// programs are the commands that are built for each of them.
var programs = []string{"accountantd", "accountctl"}

// platform is where programs run.
type platform struct {
	goos, goarch string
	wheel        string // its tags in the name of a wheel: static programs need no C library
}

func (p platform) String() string { return p.goos + "_" + p.goarch }

// program is the name of a program's file there.
func (p platform) program(name string) string {
	if p.goos == "windows" {
		return name + ".exe"
	}
	return name
}

// release is what is built, and of which commit.
type release struct {
	root    string // of the sources
	dist    string // where everything goes
	version string // "1.0.0"
	commit  string
	date    time.Time // of the commit
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	only := flag.String("platforms", "",
		"the platforms to build for, such as linux_amd64,darwin_arm64; all unless given")
	dist := flag.String("dist", "dist", "the directory to write to; it is emptied first")
	dirty := flag.Bool("dirty", false, "also build from files that are not committed; the version says so")
	wheels := flag.Bool("only-wheel", false, "make the wheels, and nothing else of a platform")
	flag.Parse()
	if err := run(*only, *dist, *dirty, *wheels); err != nil {
		log.Fatal(err)
	}
}

func run(only, dist string, dirty, wheels bool) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	r, err := describe(dist, dirty)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.dist), os.MkdirAll(r.dist, 0o755)); err != nil {
		return err
	}
	if !dirty {
		if err := r.export(); err != nil {
			return err
		}
	}
	pure, err := r.python()
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if err := r.build(p, pure, wheels); err != nil {
			return fmt.Errorf("%v: %w", p, err)
		}
	}
	if err := os.RemoveAll(r.work()); err != nil {
		return err
	}
	return r.checksums()
}

func choose(only string) ([]platform, error) {
	if only == "" {
		return platforms, nil
	}
	var chosen []platform
	for _, name := range strings.Split(only, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("platform %q; allowed: %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

var versionLine = regexp.MustCompile(`(?m)^__version__ = "([0-9.]+)"$`)

// describe finds out what is released: the version is that of the Python package.
func describe(dist string, dirty bool) (*release, error) {
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	if changed, err := output(root, "git", "status", "--porcelain"); err != nil || changed != "" && !dirty {
		return nil, errors.Join(err, fmt.Errorf(
			"files are not committed, so that nobody could build the same again; commit them, or give --dirty:\n%s",
			changed))
	}
	source, err := os.ReadFile(filepath.Join(root, "python/src/privacy_accountant/_version.py"))
	if err != nil {
		return nil, err
	}
	found := versionLine.FindSubmatch(source)
	if found == nil {
		return nil, errors.New("python/src/privacy_accountant/_version.py names no version")
	}
	r := &release{root: root, version: string(found[1])}
	if r.dist, err = filepath.Abs(dist); err != nil {
		return nil, err
	}
	if r.commit, err = output(root, "git", "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	date, err := output(root, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return nil, err
	}
	if r.date, err = time.Parse(time.RFC3339, date); err != nil {
		return nil, err
	}
	r.date = r.date.UTC()
	if changed, err := output(root, "git", "status", "--porcelain"); err == nil && changed != "" {
		r.commit += "-dirty"
	}
	return r, nil
}

// export copies the commit's files, and builds from those: what happens in the clone meanwhile
// changes nothing, and files that are not the commit's cannot get in.
func (r *release) export() error {
	c := exec.Command("git", "archive", "--format=tar.gz", r.commit)
	c.Dir, c.Stderr = r.root, os.Stderr
	b, err := c.Output()
	if err != nil {
		return fmt.Errorf("git archive: %w", err)
	}
	entries, err := readTar(b)
	if err != nil {
		return err
	}
	r.root = filepath.Join(r.work(), "source")
	for _, e := range entries {
		file := filepath.Join(r.root, e.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, e.body, e.mode)); err != nil {
			return err
		}
	}
	return nil
}

// work is where intermediate files are.
func (r *release) work() string { return filepath.Join(r.dist, ".work") }

// name begins the names of all files of a platform.
func (r *release) name(p platform) string {
	return fmt.Sprintf("privacy-accountant_%s_%v", r.version, p)
}

// build makes everything of one platform, or its wheel alone.
func (r *release) build(p platform, pure string, wheel bool) error {
	log.Printf("%v: building %s", p, strings.Join(programs, " and "))
	files := map[string]string{} // where a program's file is
	for _, name := range programs {
		out := filepath.Join(r.work(), p.String(), p.program(name))
		if err := r.compile(p, name, out); err != nil {
			return err
		}
		files[p.program(name)] = out
	}
	if wheel {
		return r.wheel(p, files, pure)
	}
	for _, step := range []func() error{
		func() error { return r.archive(p, files) },
		func() error { return r.bill(p, files) },
		func() error { return r.wheel(p, files, pure) },
		func() error { return r.debian(p, files) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// compile builds a program without a C library, without paths of this machine, and with the
// version, the commit and its date in it.
func (r *release) compile(p platform, name, out string) error {
	const stamp = "github.com/dpaccountant/accountant/internal/version"
	flags := fmt.Sprintf("-s -w -buildid= -X %[1]s.release=%[2]s -X %[1]s.commit=%[3]s -X %[1]s.date=%[4]s",
		stamp, r.version, r.commit, r.date.Format(time.RFC3339))
	c := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-buildvcs=false", "-ldflags", flags,
		"-o", out, "./cmd/"+name)
	c.Dir = r.root
	c.Env = append(os.Environ(), "GOOS="+p.goos, "GOARCH="+p.goarch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly",
		"GOAMD64=v1", "GOWORK=off")
	c.Stderr = os.Stderr
	return c.Run()
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.dist)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(r.dist, e.Name()))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), e.Name())
		log.Printf("%9.1f MB  %s", float64(len(b))/1e6, e.Name())
	}
	return os.WriteFile(filepath.Join(r.dist, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// output runs a command and returns what it printed, without the line's end.
func output(dir, name string, arguments ...string) (string, error) {
	c := exec.Command(name, arguments...)
	c.Dir, c.Stderr = dir, os.Stderr
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(b)), nil
}
