// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// maxMetrics bounds what is read of /metrics.
const maxMetrics = 16 << 20

// serverCPU is the daemon's CPU so far, in seconds, by its /metrics: on this
// machine only. 0 without an address. A daemon with TLS has it on that port too.
func serverCPU(ctx context.Context, address string, secure *tls.Config) (float64, error) {
	if address == "" {
		return 0, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !(host == "localhost" || net.ParseIP(host).IsLoopback()) {
		return 0, fmt.Errorf("http: %q; allowed: HOST:PORT on this machine, or \"\"", address)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: secure}}
	defer web.CloseIdleConnections()
	answer, err := web.Do(request)
	if err != nil {
		return 0, fmt.Errorf("the daemon's CPU: %w (leave it out with --http \"\")", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the daemon's CPU: %s: %s", request.URL, answer.Status)
	}
	lines := bufio.NewScanner(io.LimitReader(answer.Body, maxMetrics))
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); ok {
			return strconv.ParseFloat(v, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("the daemon's CPU: no process_cpu_seconds_total at %s", request.URL)
}

// profile starts a CPU profile; "": none. A second run's replaces the first's.
func profile(file string) (end func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}
