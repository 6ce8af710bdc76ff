// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"sync/atomic"
	"time"
)

// testMeter counts nothing, and knows when its commit was last called.
type testMeter struct{ last atomic.Int64 }

func (*testMeter) QuestionRefused()    {}
func (*testMeter) QuestionCut()        {}
func (m *testMeter) LastCommit() int64 { return m.last.Load() }

func (m *testMeter) commit() { m.last.Store(time.Now().UnixNano()) }
