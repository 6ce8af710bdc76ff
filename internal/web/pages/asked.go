// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// checkAddress refuses an address whose parameters cannot be read, or that gives one twice, of which any choice would
// surprise somebody.
func checkAddress(r *http.Request) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return status.Error(codes.InvalidArgument,
			"the address has a % or a ; that begins nothing; allowed: %25 for a percent sign and %3B for a semicolon")
	}
	for key, values := range q {
		if !slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) && utf8.ValidString(key) {
			if len(values) < 2 {
				continue
			}
			return status.Errorf(codes.InvalidArgument, "%s: given %d times; allowed: once", key, len(values))
		}
		return status.Errorf(codes.InvalidArgument, "%s: %q; allowed: text in UTF-8", strings.ToValidUTF8(key, "�"),
			strings.Join(values, ""))
	}
	return nil
}

// fieldOfAPI is the field at the beginning of an error's text, such as "event.mechanism.dp_sgd.dataset_size: 0; …".
var fieldOfAPI = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z_0-9\[\]]+\.)*([a-z_]+)(?:\[\d+\])?: `)
})

// typed are the fields of the API that pages ask with: what their reader has typed or chosen instead.
var typed = map[string]string{
	"min_share": "share", "flags": "flag", "start_time": "from", "end_time": "to", "label_key": "label",
	"dataset_size": "records in the dataset", "batch_size": "records in a batch",
	"noise_multiplier": "noise multiplier", "target_epsilon": "target ε", "target_delta": "target δ",
}

// inWords is what an error says, in the words of whoever reads pages and has never seen a field of the API.
func inWords(err error) string {
	said := status.Convert(err)
	text := said.Message()
	if said.Code() != codes.InvalidArgument {
		return text
	}
	found := fieldOfAPI().FindStringSubmatch(text)
	if found == nil || !strings.Contains(text, "; allowed: ") {
		return text
	}
	if found[1] == "page_token" {
		return "page: this address leads to no page of the list as it is asked for; allowed: the link at the end of " +
			"the page before, or no page at all, which begins the list"
	}
	name := found[1]
	if known := typed[name]; known != "" {
		name = known
	}
	value, allowed, _ := strings.Cut(text[len(found[0]):], "; allowed: ") // no field is replaced in what was typed
	for field, word := range typed {
		allowed = strings.ReplaceAll(allowed, field, word)
	}
	return name + ": " + value + "; allowed: " + allowed
}
