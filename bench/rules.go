package main

import (
	"fmt"
	"os"
	"strings"
)

// The images of the rules, before and after a reload. The first one is that of
// examples/foo/rules.yaml.
const (
	firstImage  = "nginx:latest"
	secondImage = "nginx:stable"
)

// writeRules writes the rules of examples/foo with another image. It replaces the file at
// once, so that nobody reads half of it.
func writeRules(path, image string) error {
	const original = "examples/foo/rules.yaml"
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	changed, err := withImage(string(text), image)
	if err != nil {
		return fmt.Errorf("%s: %w", original, err)
	}
	if err := os.WriteFile(path+".new", []byte(changed), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// withImage replaces the image in the text of the rules.
func withImage(rules, image string) (string, error) {
	if strings.Count(rules, firstImage) != 1 {
		return "", fmt.Errorf("want the image %s once", firstImage)
	}
	return strings.Replace(rules, firstImage, image, 1), nil
}
