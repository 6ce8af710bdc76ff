// SPDX-License-Identifier: Apache-2.0

// Package examples holds workloads for whoever shows how a mechanism is described.
package examples

import "embed"

// Mechanisms has a workload of each kind of mechanism, whose first event is of that kind:
// mechanisms/gaussian.json, mechanisms/laplace.json and so on.
//
//go:embed mechanisms/*.json
var Mechanisms embed.FS
