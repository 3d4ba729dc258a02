package output

import (
	"io"
	"os"
)

// Escape sequences of a terminal.
const (
	Bold   = "\x1b[1m"
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	Cyan   = "\x1b[36m"
	Normal = "\x1b[0m"

	clearLine = "\r\x1b[K"
)

// isTerminal reports whether a person reads the output.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// IsColoured reports whether the output may contain colours.
func IsColoured(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }
