package main

import (
	"errors"
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

// writeRules writes the rules of examples/foo with another image, and with this many
// Deployments. It replaces the file at once, so that no reader sees half of it. It does
// nothing for a competitor without rules, which has no path.
func writeRules(path, image string, deployments int) error {
	if path == "" {
		return nil
	}
	const original = "examples/foo/rules.yaml"
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	changed, err := withImage(string(text), image)
	if err == nil {
		changed, err = withDeployments(changed, deployments)
	}
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

// withDeployments repeats the child in the text of the rules. The second one gets the
// suffix -2.
func withDeployments(rules string, number int) (string, error) {
	const id, name = "- id: deployment\n", "name: ${self.spec.deploymentName}\n"
	begin, end := strings.Index(rules, "  "+id), strings.Index(rules, "\n  status:\n")
	if begin < 0 || end < begin || strings.Count(rules[begin:end], name) != 1 {
		return "", errors.New("want one child with the id deployment before the status, named ${self.spec.deploymentName}")
	}
	child, result := rules[begin:end], rules[:end]
	for i := 2; i <= number; i++ {
		other := strings.Replace(child, id, fmt.Sprintf("- id: deployment%d\n", i), 1)
		result += "\n" + strings.Replace(other, name, fmt.Sprintf("name: ${self.spec.deploymentName}-%d\n", i), 1)
	}
	return result + rules[end:], nil
}
