//go:build integration

package campaign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder holds the rules file of a process.
type folder struct {
	path  string
	links int // how many folders have been linked to
}

func (f *folder) file() string { return filepath.Join(f.path, "rules.yaml") }

// ways are the ways to write the file: by an editor, by a plain write, and by a mounted
// ConfigMap.
func (f *folder) ways() []func(text string) error {
	return []func(string) error{f.rename, f.overwrite, f.link}
}

func (f *folder) rename(text string) error {
	next := filepath.Join(f.path, ".next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return f.replace(next)
}

// replace replaces the file by a rename, even if it is a folder.
func (f *folder) replace(next string) error {
	if at, err := os.Lstat(f.file()); err == nil && at.IsDir() {
		if err := os.Remove(f.file()); err != nil {
			return err
		}
	}
	return os.Rename(next, f.file())
}

// overwrite truncates the file and writes it again in two parts.
func (f *folder) overwrite(text string) (err error) {
	if at, err := os.Stat(f.file()); err != nil || at.IsDir() {
		if err := os.Remove(f.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // Only a file can be overwritten.
		}
	}
	file, err := os.OpenFile(f.file(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, half := range []string{text[:len(text)/2], text[len(text)/2:]} {
		if _, err := file.WriteString(half); err != nil {
			return err
		}
	}
	return nil
}

// link does what the kubelet does: the file is a link through ..data, which changes to
// another folder.
func (f *folder) link(text string) error {
	f.links++
	version := "..v" + strings.Repeat("i", f.links%2+1) // Two names are enough: the current one and the next.
	if err := os.RemoveAll(filepath.Join(f.path, version)); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(f.path, version), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.path, version, "rules.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	next := filepath.Join(f.path, "..data_next")
	if err := os.Symlink(version, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(f.path, "..data")); err != nil {
		return err
	}
	if to, err := os.Readlink(f.file()); err == nil && to == "..data/rules.yaml" {
		return nil
	}
	return f.linkTo("..data/rules.yaml")
}

func (f *folder) linkTo(to string) error {
	next := filepath.Join(f.path, ".next")
	if err := os.Symlink(to, next); err != nil {
		return err
	}
	return f.replace(next)
}

// damage makes a valid rules folder invalid.
type damage struct {
	name string
	text func(good string) string           // the new text of the file, or
	do   func(f *folder, good string) error // the change to the file
}

var damages = []damage{
	{name: "YAML that does not end", text: func(s string) string { return strings.Replace(s, "rules:", "rules: [", 1) }},
	{name: "half a file", text: func(s string) string { return s[:strings.LastIndex(s, "template: {")+len("template: {apiVers")] }},
	{name: "an unknown field", text: func(s string) string { return strings.Replace(s, "  children:", "  childs:", 1) }},
	{name: "an expression that does not end", text: func(s string) string { return strings.Replace(s, "self.spec.value)", "self.spec.value +)", 1) }},
	{name: "a field that the kind does not have", text: func(s string) string { return strings.Replace(s, "self.spec.value", "self.spec.valeu", 1) }},
	{name: "a value of another type", text: func(s string) string { return strings.Replace(s, "string(self.spec.value)", "self.spec.value", 1) }},
	{name: "an empty file", text: func(string) string { return "" }},
	{name: "a comment", text: func(string) string { return "# Nothing yet.\n" }},
	{name: "no rules", text: func(s string) string { return strings.Replace(s, "kind: Rules", "kind: ConfigMap", 1) }},
	{name: "NUL bytes", text: func(s string) string { return strings.Replace(s, "item", "it\x00em", 1) }},
	{name: "bytes that are no text", text: func(s string) string { return strings.Replace(s, "item", "it\xff\xfeem", 1) }},
	{name: "a huge file", text: func(string) string { return strings.Repeat("# huge\n", 10<<20) }},
	{name: "two rules of one name", text: func(s string) string { return s + "---\n" + s }},
	{name: "a kind that gives power", text: func(s string) string {
		return s + "  - {id: power, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: power}}}\n"
	}},
	{name: "aliases without end", text: func(s string) string { return s + "- &a [*a, *a]\n" }},
	{name: "no file", do: func(f *folder, _ string) error { return os.Remove(f.file()) }},
	{name: "a link to nothing", do: func(f *folder, _ string) error { return f.linkTo("..data/nothing") }},
	{name: "a link to itself", do: func(f *folder, _ string) error { return f.linkTo("rules.yaml") }},
	{name: "a folder instead of the file", do: func(f *folder, _ string) error {
		return errors.Join(os.Remove(f.file()), os.Mkdir(f.file(), 0o700))
	}},
}
