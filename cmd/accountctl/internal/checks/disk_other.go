// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package checks

import "errors"

func freeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }
