// Package soak tells tests how much to run: a sample in make test, or everything in the
// soak targets of the Makefile, which set RECONCEL_SOAK.
package soak

import "os"

// Enabled reports whether long tests run in full.
func Enabled() bool { return os.Getenv("RECONCEL_SOAK") != "" }

// Skips reports whether the i-th of many similar cases is not in the sample.
func Skips(i int) bool { return i%every != 0 && !Enabled() }

// every is the distance between two cases of the sample.
const every = 4
