// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// statusFindings are what the daemon knows of its store: what somebody should look at, and then where the ledgers are,
// what protects them, and when everything was last verified and copied.
func statusFindings(s *accountantv1.GetStoreStatusResponse, err error) (found []finding) {
	switch status.Code(err) {
	case codes.OK:
	case codes.PermissionDenied, codes.Unauthenticated:
		return []finding{{"store", foundWarn, "the daemon tells only auditors of everything about its store",
			"ask as one of them"}}
	default:
		return []finding{{"store", foundFail, status.Convert(err).Message(), "look at the daemon's log"}}
	}
	damage := s.GetLastVerification().GetDamage()
	for _, warning := range s.GetWarnings() { // sentences that say what to do, too
		result := foundWarn
		if damage != "" && strings.Contains(warning, damage) {
			result = foundFail
		}
		found = append(found, finding{"store", result, warning, ""})
	}
	if len(found) == 0 {
		found = []finding{{"store", foundOK, "nothing is damaged or lost, and a backup is recent", ""}}
	}
	found = append(found, finding{"store", foundOK, fmt.Sprintf("%s, a %s; the daemon was started %s", s.GetStoreId(),
		s.GetKind(), spelling.Time(s.GetStartTime())), ""})
	for _, promise := range s.GetPromises() {
		found = append(found, finding{"promise", foundOK, promise, ""})
	}
	return append(found, finding{"last verification", foundOK, verificationText(s), ""},
		finding{"newest backup", foundOK, backupText(s), ""})
}

func verificationText(s *accountantv1.GetStoreStatusResponse) string {
	v := s.GetLastVerification()
	if v == nil {
		return "none is known"
	}
	found := "nothing is damaged"
	if v.GetDamage() != "" {
		found = "damaged: " + v.GetDamage()
	}
	return fmt.Sprintf("%s, of %s: %s", spelling.Time(v.GetEndTime()), v.GetOf(), found)
}

func backupText(s *accountantv1.GetStoreStatusResponse) string {
	b := s.GetNewestBackup()
	if b == nil {
		return "none is known"
	}
	age := s.GetTime().AsTime().Sub(b.GetTime().AsTime()).Truncate(time.Second)
	return fmt.Sprintf("%s (%s old), %s, sent to %s", spelling.Time(b.GetTime()), age, byteText(b.GetSize()),
		b.GetPrincipal()) + fmt.Sprintf("; its SHA-256 is %x", b.GetSha256())
}
