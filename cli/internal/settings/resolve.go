// Package settings reads the settings of run. Each setting is a flag, an
// environment variable and a key of reconcel.yaml. Other commands share some of them.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"reconcel/cli/internal/exit"
	"reconcel/internal/disk"
	"reconcel/rules/source"
)

const (
	envPrefix    = "RECONCEL_"
	settingsFile = "reconcel.yaml"
	// ConfigFlag names the settings file, so the file cannot contain it.
	ConfigFlag = "config"
)

// variable returns the environment variable of a setting.
func variable(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// ofProject are the settings of commands that read rules, besides those of run.
var ofProject = []string{"crd", "strict"}

// shared are the settings of run that other commands have too.
var shared = []string{"rules", "recursive", "allow-kind", "namespaced", "ignore-check"}

// Resolve completes the flags of run. A flag that is not set takes its value from
// the environment, then from the settings file, then its default. The error names
// all mistakes in the environment and the file.
func Resolve(flags *pflag.FlagSet) error {
	path, file, err := readSettings(settingsFile, flags)
	if err != nil {
		return err
	}
	if isRules(file) {
		return exit.Misused("%s contains rules, but a file of that name contains settings: rename it", path)
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != ConfigFlag {
			names = append(names, f.Name)
		}
	})
	return complete(flags, path, file, names, slices.Concat(names, ofProject))
}

// Project completes those flags of a command that are also settings of the project in a
// folder, as Resolve does. "" is the working directory. known are the settings of run.
func Project(folder string, flags *pflag.FlagSet, known []string) error {
	path, file, err := readSettings(filepath.Join(folder, settingsFile), flags)
	if err != nil || isRules(file) {
		return err
	}
	var names []string
	for _, name := range slices.Concat(shared, ofProject) {
		if flags.Lookup(name) != nil {
			names = append(names, name)
		}
	}
	return complete(flags, path, file, names, slices.Concat(known, ofProject))
}

// isRules reports whether a settings file is a rules file of the same name.
func isRules(file *viper.Viper) bool { return file.GetString("kind") == "Rules" }

// complete sets the named flags that are not set. known are all keys that the file may
// have.
func complete(flags *pflag.FlagSet, path string, file *viper.Viper, names, known []string) error {
	v := viper.New()
	if err := v.MergeConfigMap(file.AllSettings()); err != nil {
		return exit.Misused("%s: %w", path, err)
	}
	var wrong []error
	for _, name := range names {
		f := flags.Lookup(name)
		if f.Changed {
			continue // A flag wins, and is already checked.
		}
		_ = v.BindEnv(name, variable(name)) // It fails only without a name.
		position, base := variable(name), ""
		if os.Getenv(variable(name)) == "" {
			position, base = path+": "+name, filepath.Dir(path)
		}
		if value := v.Get(name); value != nil {
			if err := assign(f, value, base); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", position, err))
			}
		}
	}
	wrong = append(wrong, unknownKeys(file, path, known)...)
	wrong = append(wrong, unknownVariables(os.Environ(), known)...)
	if len(wrong) > 0 {
		return exit.Misused("%w", errors.Join(wrong...))
	}
	return nil
}

// readSettings reads the settings file that is configured, or else the usual one, which
// may be missing.
func readSettings(usual string, flags *pflag.FlagSet) (path string, file *viper.Viper, err error) {
	path, _ = flags.GetString(ConfigFlag)
	if path == "" {
		path = os.Getenv(variable(ConfigFlag))
	}
	configured := path != ""
	if !configured {
		path = usual
	}
	file = viper.New()
	file.SetConfigType("yaml")
	text, err := disk.ReadFile(path)
	if err == nil {
		err = file.ReadConfig(bytes.NewReader(text))
	}
	var unparsed viper.ConfigParseError
	switch {
	case errors.Is(err, fs.ErrNotExist) && !configured:
		return path, file, nil
	case errors.As(err, &unparsed):
		return path, nil, exit.Misused("%s: %s", path, strings.TrimPrefix(unparsed.Unwrap().Error(), "yaml: "))
	case err != nil:
		return path, nil, exit.Failure(fmt.Errorf("%s: cannot be read: %w", path, exit.Cause(err)))
	}
	return path, file, nil
}

// assign sets a flag from the environment or the settings file. Paths in the file
// are relative to its folder, base.
func assign(f *pflag.Flag, value any, base string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		texts, err := texts(value)
		if err != nil {
			return err
		}
		for i := range texts {
			if f.Name == "rules" || f.Name == "crd" { // Other lists do not contain paths.
				texts[i] = relative(base, texts[i])
			}
		}
		return list.Replace(texts)
	}
	s, err := text(f.Value.Type(), value)
	if err != nil {
		return err
	}
	if f.Name == "kubeconfig" {
		s = relative(base, s)
	}
	if err := f.Value.Set(s); err != nil {
		return fmt.Errorf("%w, got %q", expectation(f, err), s)
	}
	return nil
}

// expectation replaces the errors of pflag's own types by plain words.
func expectation(f *pflag.Flag, err error) error {
	if f.Value.Type() == "bool" {
		return errors.New("expected true or false")
	}
	return err
}

func relative(base, path string) string {
	if base == "" || path == "" || path == "-" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// text returns a value as a flag would have it, if its type matches. Values from
// the environment are always strings.
func text(kind string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		if kind == "bool" {
			return fmt.Sprint(v), nil
		}
	case int, int64, uint64, float64:
		if kind == typeNumber || kind == typeDuration {
			return fmt.Sprint(v), nil
		}
	}
	want := kind
	switch kind {
	case "string":
		want = "text"
	case "bool":
		want = "true or false"
	}
	return "", fmt.Errorf("expected a %s, got the %s %v", want, TypeOf(value), value)
}

// texts returns a list of strings, or splits one at commas.
func texts(value any) ([]string, error) {
	switch v := value.(type) {
	case string:
		parts := strings.Split(v, ",")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts, nil
	case []any:
		all := make([]string, len(v))
		for i := range v {
			s, ok := v[i].(string)
			if !ok {
				return nil, fmt.Errorf("expected a list of strings, got the %s %v in it", TypeOf(v[i]), v[i])
			}
			all[i] = s
		}
		return all, nil
	}
	return nil, fmt.Errorf("expected a list of strings, got the %s %v", TypeOf(value), value)
}

// unknownKeys returns an error for each unknown key in the settings file.
func unknownKeys(file *viper.Viper, path string, names []string) (wrong []error) {
	keys := file.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		key, _, _ = strings.Cut(key, ".") // A map where a scalar belongs fails by its type.
		if slices.Contains(names, key) {
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s: unknown key %q%s", path, key, source.DidYouMean(key, names)))
	}
	return slices.CompactFunc(wrong, func(a, b error) bool { return a.Error() == b.Error() })
}

// serviceVariable matches the variables that Kubernetes sets in every Pod for each
// Service in its namespace. A Service called reconcel or reconcel-metrics has
// variables with our prefix.
var serviceVariable = regexp.MustCompile(
	`_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// completionVariables configure shell completion. The script for fish sets the first one.
var completionVariables = []string{envPrefix + "ACTIVE_HELP", envPrefix + "COMPLETION_DESCRIPTIONS"}

// unknownVariables returns an error for each unknown variable with our prefix.
func unknownVariables(environ, names []string) (wrong []error) {
	known := []string{variable(ConfigFlag), disk.EnvWithin}
	for _, name := range names {
		known = append(known, variable(name))
	}
	slices.Sort(environ)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) ||
			slices.Contains(completionVariables, name) || serviceVariable.MatchString(name) {
			continue
		}
		wrong = append(wrong, fmt.Errorf("unknown variable %s in the environment%s", name, source.DidYouMean(name, known)))
	}
	return wrong
}

// TypeOf returns the type of a decoded value for messages.
func TypeOf(value any) string {
	switch value.(type) {
	case []any:
		return "list"
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "map"
	}
	return "number"
}
