package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/settings"
)

// resolved returns the settings from a command line, an environment and a settings file,
// by flag name.
func resolved(t *testing.T, args []string, environ map[string]string, file string) (map[string]string, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if file != "" {
		if err := os.WriteFile("reconcel.yaml", []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range environ {
		t.Setenv(name, value)
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags.String(settings.ConfigFlag, "", "")
	new(runFlags).flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	err := settings.Resolve(flags)
	got := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
	return got, err
}

func TestSettingsPrecedence(t *testing.T) {
	cases := []struct {
		name    string
		args    []string
		environ map[string]string
		file    string
		setting string
		want    string
	}{
		{name: "default", setting: "workers", want: "16"},
		{name: "file over default", file: "workers: 2", setting: "workers", want: "2"},
		{name: "environment over file", environ: map[string]string{"RECONCEL_WORKERS": "3"}, file: "workers: 2", setting: "workers", want: "3"},
		{name: "flag over all", args: []string{"--workers=4"}, environ: map[string]string{"RECONCEL_WORKERS": "3"}, file: "workers: 2", setting: "workers", want: "4"},
		{name: "a flag that repeats the default counts", args: []string{"--workers=16"}, environ: map[string]string{"RECONCEL_WORKERS": "3"}, setting: "workers", want: "16"},
		{name: "an empty variable does not", environ: map[string]string{"RECONCEL_WORKERS": ""}, file: "workers: 2", setting: "workers", want: "2"},
		{name: "a key without a value does not", file: "workers:", setting: "workers", want: "16"},
		{name: "an empty file", file: "# nothing", setting: "workers", want: "16"},
		{name: "duration", file: "reapply-every: 90s", setting: "reapply-every", want: "1m30s"},
		{name: "duration nought", file: "reapply-every: 0", setting: "reapply-every", want: "0s"},
		{name: "duration default", setting: "reapply-every", want: "12h"},
		{name: "events", environ: map[string]string{"RECONCEL_EVENTS": "warnings"}, setting: "events", want: "warnings"},
		{name: "events by default", setting: "events", want: "changes"},
		{name: "rate", file: "qps: 2.5", setting: "qps", want: "2.5"},
		{name: "rate as a whole number", file: "qps: 50", setting: "qps", want: "50"},
		{name: "list in a file", file: "rules: [a.yaml, b]", setting: "rules", want: "[a.yaml,b]"},
		{name: "one path in a file", file: "rules: a.yaml", setting: "rules", want: "[a.yaml]"},
		{name: "list in the environment", environ: map[string]string{"RECONCEL_RULES": "a.yaml, b"}, setting: "rules", want: "[a.yaml,b]"},
		{name: "a flag replaces the list", args: []string{"-f", "c"}, file: "rules: [a.yaml, b]", setting: "rules", want: "[c]"},
		{name: "namespaces in a file", file: "namespaced: [a, b, a]", setting: "namespaced", want: "a,b"},
		{name: "namespaces in the environment", environ: map[string]string{"RECONCEL_NAMESPACED": "a, b"}, file: "namespaced: [c]", setting: "namespaced", want: "a,b"},
		{name: "hyphens", environ: map[string]string{"RECONCEL_LOG_LEVEL": "debug"}, setting: "log-level", want: "debug"},
		{name: "boolean", file: "recursive: true", setting: "recursive", want: "true"},
		{name: "boolean in the environment", environ: map[string]string{"RECONCEL_RECURSIVE": "true"}, setting: "recursive", want: "true"},
		{name: "listen outside a Pod", setting: "listen", want: "127.0.0.1:8080"},
		{name: "listen in a Pod", environ: map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, setting: "listen", want: ":8080"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := resolved(t, c.args, c.environ, c.file)
			if err != nil {
				t.Fatal(err)
			}
			if got[c.setting] != c.want {
				t.Errorf("%s is %s, expected %s", c.setting, got[c.setting], c.want)
			}
		})
	}
}

// TestEmptyVariables sets each variable to nothing. It is then as if it were not set: the file counts, and without the
// file the default.
func TestEmptyVariables(t *testing.T) {
	const file = "namespaced: [a]\nname: b\nrules: [c]\nworkers: 2\nleader-elect: false\n"
	for _, file := range []string{"", file} {
		want, err := resolved(t, nil, nil, file)
		if err != nil {
			t.Fatal(err)
		}
		for name := range want {
			got, err := resolved(t, nil, map[string]string{"RECONCEL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")): ""}, file)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: error %v (-want +got)\n%s", name, err, diff)
			}
		}
	}
}

func TestSettingsRefused(t *testing.T) {
	cases := []struct {
		name    string
		environ map[string]string
		file    string
		want    string
	}{
		{name: "unknown key", file: "worker: 2", want: `reconcel.yaml: unknown key "worker" (did you mean workers?)`},
		{name: "key in another style", file: "logLevel: debug", want: `reconcel.yaml: unknown key "loglevel" (did you mean log-level?)`},
		{name: "unknown group", file: "log: {level: debug, format: text}", want: `reconcel.yaml: unknown key "log"`},
		{name: "unknown variable", environ: map[string]string{"RECONCEL_WORKER": "2"}, want: `unknown variable RECONCEL_WORKER in the environment (did you mean RECONCEL_WORKERS?)`},
		{name: "number wanted in the file", file: "workers: many", want: `reconcel.yaml: workers: expected a whole number of at least 1, got "many"`},
		{name: "number wanted in the environment", environ: map[string]string{"RECONCEL_WORKERS": "many"}, want: `RECONCEL_WORKERS: expected a whole number of at least 1, got "many"`},
		{name: "too few", file: "workers: 0", want: `reconcel.yaml: workers: expected a whole number of at least 1, got "0"`},
		{name: "half a worker", file: "workers: 1.5", want: `reconcel.yaml: workers: expected a whole number of at least 1, got "1.5"`},
		{name: "list for a number", file: "workers: [1]", want: `reconcel.yaml: workers: expected a number, got the list [1]`},
		{name: "map for a number", file: "workers: {a: 1}", want: `reconcel.yaml: workers: expected a number, got the map map[a:1]`},
		{name: "number for a text", file: "name: 12", want: `reconcel.yaml: name: expected a text, got the number 12`},
		{name: "number in a list", file: "rules: [1]", want: `reconcel.yaml: rules: expected a list of strings, got the number 1 in it`},
		{name: "duration without a unit", file: "reapply-every: 12", want: `reconcel.yaml: reapply-every: expected a duration such as 12h or 90s, or 0, got "12"`},
		{name: "unknown level", file: "log-level: trace", want: `reconcel.yaml: log-level: expected debug or info or warn or error, got "trace"`},
		{name: "unknown format", file: "log-format: xml", want: `reconcel.yaml: log-format: expected text or json, got "xml"`},
		{name: "unknown Events", file: "events: none", want: `reconcel.yaml: events: expected changes or all or warnings, got "none"`},
		{name: "boolean wanted", file: "recursive: often", want: `reconcel.yaml: recursive: expected true or false, got "often"`},
		{name: "negative rate", file: "qps: -1", want: `reconcel.yaml: qps: expected a number of at least 0, got "-1"`},
		{name: "the settings file names itself", file: "config: x", want: `reconcel.yaml: unknown key "config"`},
		{name: "rules under the name of settings", file: "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: []", want: `reconcel.yaml contains rules, but a file of that name contains settings: rename it`},
		{name: "all at once", file: "worker: 2\nqps: x", environ: map[string]string{"RECONCEL_BURST": "x"},
			want: "RECONCEL_BURST: expected a whole number of at least 0, got \"x\"\n" +
				"reconcel.yaml: qps: expected a number of at least 0, got \"x\"\n" +
				"reconcel.yaml: unknown key \"worker\" (did you mean workers?)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := resolved(t, nil, c.environ, c.file)
			if err == nil {
				t.Fatal("is accepted")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestVariablesOfOthersAreNotSettings(t *testing.T) {
	_, err := resolved(t, nil, map[string]string{
		"RECONCEL_ACTIVE_HELP":                  "0", // of shell completion
		"RECONCEL_SERVICE_HOST":                 "10.0.0.1",
		"RECONCEL_SERVICE_PORT":                 "8080",
		"RECONCEL_SERVICE_PORT_METRICS":         "8080",
		"RECONCEL_PORT":                         "tcp://10.0.0.1:8080",
		"RECONCEL_PORT_8080_TCP":                "tcp://10.0.0.1:8080",
		"RECONCEL_PORT_8080_TCP_ADDR":           "10.0.0.1",
		"RECONCEL_METRICS_SERVICE_HOST":         "10.0.0.1",
		"RECONCEL_METRICS_PORT_8080_TCP_PROTO":  "tcp",
		"RECONCEL_METRICS_PORT":                 "tcp://10.0.0.1:8080",
		"RECONCEL_METRICS_SERVICE_PORT_METRICS": "8080",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
}

func TestPathsInSettingsFileAreRelativeToIt(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "settings.yaml")
	if err := os.WriteFile(path, []byte("rules: [a.yaml, /b.yaml]\nkubeconfig: admin.conf\nnamespaced: [team]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := resolved(t, []string{"--config", path}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "[" + filepath.Join(folder, "a.yaml") + ",/b.yaml]"; got["rules"] != want {
		t.Errorf("rules are %s, expected %s", got["rules"], want)
	}
	if got["namespaced"] != "team" {
		t.Errorf("namespaced is %s, which names no file", got["namespaced"])
	}
	if want := filepath.Join(folder, "admin.conf"); got["kubeconfig"] != want {
		t.Errorf("kubeconfig is %s, expected %s", got["kubeconfig"], want)
	}
}
