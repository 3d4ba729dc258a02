//go:build !unix

package cli

import (
	"errors"
	"time"
)

// usedCPU cannot tell how much CPU time the process has used.
func usedCPU() (time.Duration, error) { return 0, errors.ErrUnsupported }
