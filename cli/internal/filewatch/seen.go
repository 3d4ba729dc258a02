package filewatch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
)

// Seen is the files and folders that a command has read, with their content.
type Seen struct{ paths, stamps []string }

// Add adds a file or folder before it is read, so that a change while it is read counts.
func (s *Seen) Add(path string) {
	if !slices.Contains(s.paths, path) {
		s.paths, s.stamps = append(s.paths, path), append(s.stamps, stampOf(path))
	}
}

// Wait returns the first of them that has changed, or "" when ctx ends.
func (s *Seen) Wait(ctx context.Context) (changed string) {
	var now []string
	look := func() string {
		now = nil
		for _, path := range s.paths {
			now = append(now, stampOf(path))
		}
		return strings.Join(now, "")
	}
	before := strings.Join(s.stamps, "")
	if Wait(ctx, slog.New(slog.DiscardHandler), s.paths, before, look) == before {
		return ""
	}
	first := 0
	for now[first] == s.stamps[first] {
		first++
	}
	return s.paths[first]
}

// stampOf returns a hash of the content of a file or folder, or of why it cannot be read.
func stampOf(path string) string {
	content, err := contentOf(path)
	sum := sha256.Sum256(fmt.Append(nil, content, err))
	return string(sum[:])
}

// contentOf returns the text of a file, or the names in a folder. Of other files, which may have
// no end, only the existence counts.
func contentOf(path string) (content string, err error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return "", err
	case info.IsDir():
		entries, err := os.ReadDir(path)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") { // Editors keep hidden files beside the one they edit.
				content += e.Name() + "\x00"
			}
		}
		return content, err
	case info.Mode().IsRegular():
		text, err := os.ReadFile(path)
		return string(text), err
	}
	return "", nil
}
