package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"reconcel/cli/internal/files"
)

// origin says where rules come from: the same for two processes whose rules are
// the same files, and no others. In a Pod the paths alone tell, since every Pod
// has a host name of its own.
func origin(paths []string) string {
	var from []string
	for _, path := range paths {
		path = strings.TrimSpace(path)
		if info, err := os.Stat(path); path == files.Stdin || err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return "pipe " + string(uuid.NewUUID()) // What comes next from a pipe are other rules.
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
		// It stands beside each rule in the inventory, and is not to fill it.
		sum := sha256.Sum256([]byte(strings.Join(from, "\n")))
		text = fmt.Sprintf("%s and %d more (%x)", from[0], n, sum[:6])
	}
	if inPod() {
		return text
	}
	return hostname() + ":" + text
}

// hostname is the name of this machine for people.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
