package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"reconcel/cli/internal/files"
	"reconcel/engine"
	"reconcel/rules/source"
)

// origin identifies the source of rules: two processes have the same origin only if
// they read the same files. In a Pod, the paths alone decide, because every Pod has
// its own host name.
func origin(paths []string) string {
	var from []string
	for _, path := range paths {
		path = strings.TrimSpace(path)
		if files.Reloadable([]string{path}) == nil {
			return "pipe " + string(uuid.NewUUID()) // A pipe holds other rules each time.
		}
		if full, err := filepath.Abs(path); err == nil {
			path = full
		}
		from = append(from, path)
	}
	slices.Sort(from)
	from = slices.Compact(from)
	text := from[0]
	if n := len(from) - 1; n > 0 {
		// The inventory stores the origin of each rule, so the text must be short.
		sum := sha256.Sum256([]byte(strings.Join(from, "\n")))
		text = fmt.Sprintf("%s and %d more (%x)", from[0], n, sum[:6])
	}
	if inPod() {
		return text
	}
	return hostname() + ":" + text
}

// last returns how a process finds the rules that were active last. A dry run tries its own rules and no others.
func (s *runFlags) last(machine *engine.Engine) func(context.Context) ([]source.File, error) {
	if s.dryRun {
		return nil
	}
	return machine.LastFiles
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
