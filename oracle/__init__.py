"""Multiprecision oracle: writes internal/*/testdata from definitions, never from the Go code."""
