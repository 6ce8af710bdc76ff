// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/internal/accountant"
)

// BenchmarkExamples asks for ε at 1e-6 of every example on the page. It reports the CPU time of a first answer, all
// threads included, and how wide it is. What takes long is remembered, so only the first answer of a process
// counts:
//
//	go test ./docs/mechanisms -run none -bench Examples -benchtime 1x
func BenchmarkExamples(b *testing.B) {
	for _, field := range kinds() {
		k := &kind{Name: string(field.Name())}
		if err := k.example(root); err != nil {
			b.Fatal(err)
		}
		b.Run(k.Name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			if b.N > 1 {
				b.Skip("run it with -benchtime 1x")
			}
			runtime.GC()
			before := processTime()
			a, err := accountant.Ask(k.workload, accountant.AtDelta(1e-6))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(processTime()-before)/1e6, "cpu-ms")
			b.ReportMetric(a.Epsilon, "epsilon")
			if a.EpsilonLower != nil {
				b.ReportMetric(a.Epsilon-*a.EpsilonLower, "width")
			}
		})
	}
}

// processTime is the CPU time of all threads, in nanoseconds.
func processTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return t.Nano()
}
