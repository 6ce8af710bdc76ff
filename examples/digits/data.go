// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

//go:embed digits.csv.gz
var digitsFile []byte

const (
	pixels   = 64
	features = pixels + 1 // and a constant 1
	classes  = 10
	images   = 1797 // rows of the file, see README.md
	testSize = 297
)

// example is one record of the dataset: an image and its label.
type example struct {
	x     [features]float64 // pixels scaled from 0 … 16 to [0, 1], then 1
	label int
}

// loadDigits reads the embedded images and splits them by a public seed. The
// scaling uses the pixels' range, never statistics of the data: those would be
// releases that nobody reports.
func loadDigits() (train, test []example, err error) {
	zipped, err := gzip.NewReader(bytes.NewReader(digitsFile))
	if err != nil {
		return nil, nil, fmt.Errorf("digits.csv.gz: %w", err)
	}
	var all []example
	lines := bufio.NewScanner(zipped)
	for lines.Scan() {
		e, err := parseExample(lines.Text())
		if err != nil {
			return nil, nil, fmt.Errorf("digits.csv.gz: line %d: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("digits.csv.gz: %w", err)
	}
	if len(all) != images {
		return nil, nil, fmt.Errorf("digits.csv.gz: %d images; allowed: %d", len(all), images)
	}
	const publicSeed = 1998
	order := rand.New(rand.NewPCG(publicSeed, 0)).Perm(len(all))
	for i, j := range order {
		if i < testSize {
			test = append(test, all[j])
		} else {
			train = append(train, all[j])
		}
	}
	return train, test, nil
}

func parseExample(line string) (e example, err error) {
	fields := strings.Split(line, ",")
	if len(fields) != pixels+1 {
		return e, fmt.Errorf("%d fields; allowed: %d", len(fields), pixels+1)
	}
	for i, f := range fields[:pixels] {
		v, err := strconv.Atoi(f)
		if err != nil || v < 0 || v > 16 {
			return e, fmt.Errorf("pixel %d: %q; allowed: 0 to 16", i+1, f)
		}
		e.x[i] = float64(v) / 16
	}
	e.x[pixels] = 1
	e.label, err = strconv.Atoi(fields[pixels])
	if err != nil || e.label < 0 || e.label >= classes {
		return e, fmt.Errorf("label: %q; allowed: 0 to 9", fields[pixels])
	}
	return e, nil
}
