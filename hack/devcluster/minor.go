package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// minorFile is the file of a data folder with the minor of its cluster.
const minorFile = "kubernetes-minor"

// recordedMinor returns the minor of the cluster in a folder, empty if it is unknown.
func recordedMinor(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, minorFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// recordMinor writes the minor into the data folder. It refuses a folder that a newer
// minor has used: neither etcd nor the API server reads what newer ones have stored.
func (c *cluster) recordMinor() error {
	if c.minor == "" {
		return nil
	}
	before, err := recordedMinor(c.data)
	if err != nil {
		return err
	}
	if before != "" && compareMinors(c.minor, before) < 0 {
		return fmt.Errorf("%s: Kubernetes %s has used this folder, and %s cannot read its data: choose another --data, or "+
			"set %s=%s", c.data, before, c.minor, envKubernetes, before)
	}
	return os.WriteFile(c.path(minorFile), []byte(c.minor+"\n"), 0o600)
}
