package main

import (
	"errors"
	"os"
	"path"
	"strings"
)

// unreleased is the version of the chart in the sources.
const unreleased = "version: 0.0.0\n"

// writeChart packs the chart, as helm package does, with the version of the binary.
func writeChart(folder, file string, b binary) error {
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	versioned := false
	for i, e := range entries {
		entries[i].path = path.Join("reconcel", e.path)
		if text := string(e.content); e.path == "Chart.yaml" {
			versioned = strings.Contains(text, unreleased)
			text = strings.Replace(text, unreleased, "version: "+b.version+"\nappVersion: "+b.version+"\n", 1)
			entries[i].content = []byte(text)
		}
	}
	if !versioned {
		return errors.New(folder + ": Chart.yaml has no " + strings.TrimSpace(unreleased))
	}
	text, err := tarGz(entries, b.time)
	return errors.Join(err, os.WriteFile(file, text, 0o644))
}
