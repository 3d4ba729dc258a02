package files

import (
	"os"

	"reconcel/internal/disk"
)

// open opens a file. There are no named pipes.
func open(path string) (*os.File, error) { return disk.Open(path) }
