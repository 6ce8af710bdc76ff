// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the screenshots in testdata anew; then look at them")

var (
	bin     string          // the folder of both commands
	browser context.Context // the one browser of all tests
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run builds both commands and starts the browser, once for all tests.
func run(m *testing.M) int {
	if chromium() == "" {
		const text = "no chromium is installed, so the dashboard is not tested in a browser (apt-get install chromium)"
		if os.Getenv("NEEDS_BROWSER") == "1" {
			fmt.Println("FAIL: " + text)
			return 1
		}
		fmt.Println("SKIP: " + text)
		return 0
	}
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin = dir
	if out, err := exec.Command("go", "build", "-o", dir+"/", "../../../cmd/accountantd",
		"../../../cmd/accountctl").CombinedOutput(); err != nil {
		fmt.Printf("%v\n%s", err, out)
		return 1
	}
	in, end, err := launch(filepath.Join(dir, "profile"))
	if err != nil {
		fmt.Println("the browser does not start:", err)
		return 1
	}
	defer end()
	browser = in
	return m.Run()
}

// launch starts a browser without a window, and returns what ends it.
//
// The kernel kills it with the thread that started it (Pdeathsig of prctl(2)), and threads of the daemons in these
// tests end where they have stepped back behind others. So a thread of its own starts it, and stays until it ends.
func launch(profile string, more ...chromedp.ExecAllocatorOption) (context.Context, func(), error) {
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(append(
		chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none")), more...)...)
	in, quit := chromedp.NewContext(allocator)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		goruntime.LockOSThread()
		started <- chromedp.Run(in)
		<-ended
	}()
	end := sync.OnceFunc(func() {
		quit()
		stop()
		close(ended)
	})
	if err := <-started; err != nil {
		end()
		return nil, nil, err
	}
	return in, end, nil
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// daemon is a running accountantd.
type daemon struct {
	grpc, web string
	socket    string // the daemon's own
}

// start starts a daemon with an empty store, which the test's end stops.
func start(t *testing.T) *daemon {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "accountantd"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data",
		filepath.Join(t.TempDir(), "data"), "--init")
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		d := &daemon{}
		for _, word := range strings.Fields(lines.Text()) {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "socket":
				d.socket = "unix:" + value
			case "listen":
				d.grpc = value
			case "http":
				d.web = "http://" + value
			}
		}
		if d.grpc != "" {
			return d
		}
	}
	t.Fatalf("the daemon does not start: %s", complaints.String())
	return nil
}

// ctl runs accountctl, which must succeed, and returns what it prints.
func (d *daemon) ctl(t *testing.T, args ...string) string {
	t.Helper()
	return d.run(t, append(args, "--server", d.grpc)...)
}

// own is ctl on the daemon's own socket.
func (d *daemon) own(t *testing.T, args ...string) string {
	t.Helper()
	return d.run(t, append(args, "--server", d.socket)...)
}

func (d *daemon) run(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(filepath.Join(bin, "accountctl"), args...)
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := c.Run(); err != nil {
		t.Fatalf("accountctl %s: %v: %s", strings.Join(args, " "), err, complaints.String())
	}
	return out.String()
}

// refused runs accountctl, of which the daemon must refuse what it asks.
func (d *daemon) refused(t *testing.T, args ...string) {
	t.Helper()
	err := exec.Command(filepath.Join(bin, "accountctl"), append(args, "--server", d.grpc)...).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("accountctl %s: %v; want exit status 3", strings.Join(args, " "), err)
	}
}

// numbers are all numbers in what accountctl prints as JSON.
func (d *daemon) numbers(t *testing.T, args ...string) map[float64]bool {
	t.Helper()
	found := map[float64]bool{}
	var collect func(any)
	collect = func(v any) {
		switch v := v.(type) {
		case float64:
			found[v] = true
		case string: // protobuf's 64-bit numbers
			var x float64
			if json.Unmarshal([]byte(v), &x) == nil {
				found[x] = true
			}
		case []any:
			for _, e := range v {
				collect(e)
			}
		case map[string]any:
			for _, e := range v {
				collect(e)
			}
		}
	}
	dec := json.NewDecoder(strings.NewReader(d.ctl(t, args...)))
	for dec.More() {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		collect(v)
	}
	return found
}

// tab is a page of the browser that writes down every complaint.
type tab struct {
	context.Context
	t          *testing.T
	mu         sync.Mutex
	complaints []string
}

// open returns a new tab. At the test's end it must have had no complaint: no error on the console, no
// exception, and no violation of the content policy, which the console names as an error.
func open(t *testing.T) *tab {
	t.Helper()
	return openIn(t, browser)
}

// openIn is open for a tab of another browser, or beside another tab.
func openIn(t *testing.T, in context.Context) *tab {
	t.Helper()
	ctx, closed := chromedp.NewContext(in)
	ctx, late := context.WithTimeout(ctx, 10*time.Minute)
	p := &tab{Context: ctx, t: t}
	chromedp.ListenTarget(ctx, func(event any) {
		text := ""
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
				text = e.Entry.Text
			}
		case *runtime.EventExceptionThrown:
			text = e.ExceptionDetails.Error()
		case *runtime.EventConsoleAPICalled:
			text = fmt.Sprintf("console.%s was called", e.Type)
		case *page.EventJavascriptDialogOpening:
			text = "a dialog opened: " + e.Message
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(false)) }()
		}
		if text != "" {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.complaints = append(p.complaints, text)
		}
	})
	t.Cleanup(func() {
		p.mu.Lock()
		for _, c := range p.complaints {
			t.Errorf("the browser complains: %s", c)
		}
		p.mu.Unlock()
		late()
		closed()
	})
	// Only one tab is in front; all shall behave as if they were.
	p.do(log.Enable(), emulation.SetFocusEmulationEnabled(true))
	return p
}

// meant forgets complaints of which the test has caused what they are about, such as the status 404.
func (p *tab) meant(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complaints = slices.DeleteFunc(p.complaints, func(c string) bool { return strings.Contains(c, text) })
}

// do does things in the browser, which must succeed.
func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatalf("%v, %s", err, p.whereabouts())
	}
}

// text is what a reader sees of an element, which may still have to come.
func (p *tab) text(selector string) string {
	p.t.Helper()
	var out []string
	p.until(selector+" is missing", fmt.Sprintf(`(e => e ? [e.innerText] : [])(document.querySelector(%q))`, selector),
		&out, func() bool { return len(out) == 1 })
	return out[0]
}

// shows fails the test if an element does not show a text.
func (p *tab) shows(selector string, texts ...string) {
	p.t.Helper()
	got := p.text(selector)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			p.t.Errorf("%s does not show %q:\n%.3000s", selector, want, got)
		}
	}
}

// waits until an element shows a text, over any number of pages that lead to one another, as a login does.
func (p *tab) waits(selector, want string) {
	p.t.Helper()
	var there bool
	p.until(fmt.Sprintf("%s does not show %q", selector, want),
		fmt.Sprintf(`!!document.querySelector(%q)?.innerText.includes(%q)`, selector, want),
		&there, func() bool { return there })
}

// waitsByLoading is waits for a page that does not follow its ledger, so that somebody has to load it again: it says so
// while the numbers are not there.
func (p *tab) waitsByLoading(selector, want string) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; p.do(chromedp.Reload()) {
		if got := p.text(selector); strings.Contains(got, want) {
			return
		} else if time.Now().After(end) {
			p.t.Fatalf("%s does not show %q:\n%.3000s", selector, want, got)
		}
	}
}

// until asks the page that is there, again and again, for what an expression says into out, until that is as it
// should be. It names no node and no page to the browser: a live page replaces its own parts, and while a page is
// left there is none to ask.
func (p *tab) until(complaint, expression string, out any, right func() bool) {
	p.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := chromedp.Run(p, chromedp.Evaluate(expression, out))
		if err == nil && right() {
			return
		}
		if p.Err() != nil || time.Now().After(end) {
			p.t.Fatalf("%s: %v, %s", complaint, err, p.whereabouts())
		}
	}
}

// whereabouts is where the browser is, and what it shows.
func (p *tab) whereabouts() string {
	var where, body string
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p), 10*time.Second)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Location(&where), chromedp.Text("body", &body, chromedp.ByQuery))
	return fmt.Sprintf("at %s:\n%.2000s", where, body)
}
