// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"html/template"
	"net/url"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// tabs is the navigation within a ledger.
type tabs struct{ Ledger, Here string }

// link leads to a file.
type link struct{ Text, Link string }

// filesOf are links to files with what a page shows: pairs of a text and the file's name, about a ledger or a dataset
// that a key names.
func filesOf(key, value string, pairs ...string) (list []link) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, link{pairs[i], "/file/" + pairs[i+1] + "?" + url.Values{key: {value}}.Encode()})
	}
	return list
}

// amounts is a row of the table of budgets.
type amounts struct {
	Name string
	Of   *pb.Amount
}

func labelsOf(e *pb.Entry) string { return text(spelling.Labels(spelling.ActionOf(e).Labels)) }

func moment(t time.Time) template.HTML { return when(timestamppb.New(t)) }

// age is a duration in words, rounded down to the largest unit that it has one of.
func age(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch n := d / u.unit; {
		case n == 1:
			return "1 " + u.name
		case n > 1:
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return "less than a second"
}

// bytesOf is a size in words.
func bytesOf(n uint64) string {
	for _, u := range []string{"GiB", "MiB", "KiB"} {
		if size := map[string]float64{"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}[u]; float64(n) >= size {
			return fmt.Sprintf("%.1f %s", float64(n)/size, u)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
