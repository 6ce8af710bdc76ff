package postgres

import (
	"errors"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// A primary that waits for no standby says so, and takes no commit from a daemon that requires one; questions and
// other daemons go on.
func TestRequireStandby(t *testing.T) {
	url := database(t)
	strict, other := mustOpen(t, Config{URL: url, RequireStandby: true}), mustOpen(t, Config{URL: url})
	defer mustClose(t, strict)
	defer mustClose(t, other)
	p, err := strict.Promises()
	if err != nil || p.SynchronousStandbys != "" || p.Standbys != 0 || p.Timeline < 1 {
		t.Errorf("%+v, %v; want a primary without standbys on its first timeline", p, err)
	}
	if _, _, err := strict.Create(storetest.Genesis("l")); !errors.Is(err, ledger.ErrUnavailable) ||
		!errors.Is(err, errNoStandby) {
		t.Errorf("Create = %v; want ErrUnavailable, for want of a standby", err)
	}
	if _, _, err := other.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	if heads, err := strict.Heads([]string{"l"}); err != nil || heads[0] == (ledger.Head{}) {
		t.Errorf("Heads = %v, %v", heads, err)
	}
	if err := storetest.Charge(strict, "l", 0); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a charge: %v; want ErrUnavailable", err)
	}
}
