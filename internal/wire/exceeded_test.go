package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// What a refusal says of differences names fields as the API does, of every kind.
func TestDifferencesNameFields(t *testing.T) {
	t.Parallel()
	for _, m := range wiretest.EveryMechanism {
		empty := reflect.Zero(reflect.TypeOf(m)).Interface().(mechanism.Mechanism)
		fields := kindOf(FromMechanism(m)).Descriptor().Fields()
		found := mechanism.Differences(m, empty)
		if len(found) == 0 && fields.Len() > 0 {
			t.Errorf("%v: no difference from an empty one", m)
		}
		for _, d := range found {
			if fields.ByName(protoreflect.Name(d.Field)) == nil {
				t.Errorf("%v: differs in %q, which is no field of %s", m, d.Field, m.Kind())
			}
		}
	}
}
