# SPDX-License-Identifier: Apache-2.0
"""Multiprecision oracle: writes internal/*/testdata from definitions, never from the Go code."""
