package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChart renders a chart with a dependency, helpers, a CRD and values.
func TestChart(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("image: {tag: '1.29'}\ncache: {port: 6380}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args       []string
		has, lacks []string
	}{
		"as it is": {
			[]string{"testdata/web"},
			[]string{"kind: CustomResourceDefinition", "name: web\n", "namespace: default", "image: \"nginx:1.27\"", "replicas: 2", "name: web-cache", "port: 6379"},
			[]string{"Ingress", "Thank you"},
		},
		"as another release": {
			[]string{"-name", "shop", "-namespace", "shops", "-values", values, "testdata/web"},
			[]string{"name: shop-web\n", "namespace: shops", "image: \"nginx:1.29\"", "replicas: 2", "name: shop-cache", "port: 6380"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if err := Run(c.args, &out, &errs); err != nil {
				t.Fatal(err)
			}
			for _, text := range c.has {
				if !strings.Contains(out.String(), text) {
					t.Errorf("no %q in:\n%s", text, out.String())
				}
			}
			for _, text := range c.lacks {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q in:\n%s", text, out.String())
				}
			}
		})
	}
}

// TestChartMistakes says what is wrong.
func TestChartMistakes(t *testing.T) {
	incomplete := t.TempDir()
	chart := "{apiVersion: v2, name: web, version: 1.0.0, dependencies: [{name: cache, version: 1.0.0, repository: 'https://charts.example.com'}]}"
	if err := os.WriteFile(filepath.Join(incomplete, "Chart.yaml"), []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"give one chart":           nil,
		"no such file":             {"testdata/nothing"},
		"charts/ lacks cache: run": {incomplete},
		"values.yaml: no such":     {"-values", filepath.Join(incomplete, "values.yaml"), "testdata/web"},
	} {
		var out, errs bytes.Buffer
		err := Run(args, &out, &errs)
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: the error is %v, expected %q; output %q", args, err, want, out.String())
		}
	}
}
