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
// Deployments. It does nothing for a competitor without rules, which has no path.
func writeRules(path, image string, deployments int) error {
	if path == "" {
		return nil
	}
	return writeMade(path, func(foo string) (string, error) {
		changed, err := withImage(foo, image)
		if err != nil {
			return "", err
		}
		return withDeployments(changed, deployments)
	})
}

// writeMade writes rules that are made of the text of examples/foo/rules.yaml. It replaces the
// file at once, so that no reader sees half of it.
func writeMade(path string, from func(foo string) (string, error)) error {
	const original = "examples/foo/rules.yaml"
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	made, err := from(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", original, err)
	}
	if err := os.WriteFile(path+".new", []byte(made), 0o600); err != nil {
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

// suffixOfRule ends the names of the Foos that a rule is for.
func suffixOfRule(number int) string { return fmt.Sprintf("-r%d", number) }

// withRules repeats the rule in the text, each for other Foos. image is that of the first
// one. Rules that are for one kind cannot write the same status field, so they write none.
func withRules(text string, number int, image string) (string, error) {
	const name, kind = "- name: foo\n", "\n    kind: Foo\n"
	text, err := withoutStatus(text)
	if err != nil {
		return "", err
	}
	begin := strings.Index(text, name)
	if begin < 0 || strings.Count(text, kind) != 1 {
		return "", errors.New("want one rule with the name foo, for the kind Foo")
	}
	var all strings.Builder
	all.WriteString(text[:begin])
	for i := range number {
		rule := strings.Replace(text[begin:], name, fmt.Sprintf("- name: foo-%d\n", i), 1)
		rule = strings.Replace(rule, kind, fmt.Sprintf("%s    when: self.metadata.name.endsWith(%q)\n", kind,
			suffixOfRule(i)), 1)
		if i == 0 {
			if rule, err = withImage(rule, image); err != nil {
				return "", err
			}
		}
		all.WriteString(rule + "\n")
	}
	return all.String(), nil
}

// withLookup takes the image of the Deployment from a ConfigMap with the name of the Foo.
func withLookup(text string) (string, error) {
	const children = "\n  children:\n"
	if strings.Count(text, children) != 1 {
		return "", errors.New("want children once")
	}
	text = strings.Replace(text, children, `
  lookups:
  - id: settings
    apiVersion: v1
    kind: ConfigMap
    name: ${self.metadata.name}
`+children, 1)
	return withImage(text, "${settings.data.image}")
}

// withCollection makes the child a list of Deployments.
func withCollection(text string, number int) (string, error) {
	const id, name = "  - id: deployment\n", "name: ${self.spec.deploymentName}\n"
	text, err := withoutStatus(text)
	if err != nil {
		return "", err
	}
	if strings.Count(text, id) != 1 || strings.Count(text, name) != 1 {
		return "", errors.New("want one child with the id deployment, named ${self.spec.deploymentName}")
	}
	text = strings.Replace(text, id, fmt.Sprintf("%s    forEach:\n      i: lists.range(%d)\n", id, number), 1)
	return strings.Replace(text, name, "name: ${self.spec.deploymentName}-${i}\n", 1), nil
}

// withoutStatus leaves out the status, which ends the text.
func withoutStatus(text string) (string, error) {
	before, _, found := strings.Cut(text, "\n  status:\n")
	if !found {
		return "", errors.New("want a status at the end")
	}
	return before, nil
}
