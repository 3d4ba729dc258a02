package chart

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// A release is a chart with its values.
type release struct {
	chart, name, namespace string
	values                 []string
}

// render returns the manifests, as helm template --include-crds does.
func (r *release) render() (string, error) {
	chart, err := loader.Load(r.chart)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.chart, err)
	}
	if err := chart.Validate(); err != nil {
		return "", fmt.Errorf("%s: %w", r.chart, err)
	}
	values, err := r.read()
	if err != nil {
		return "", err
	}
	missing := map[string]bool{}
	for _, d := range chart.Metadata.Dependencies {
		missing[d.Name] = true
	}
	for _, d := range chart.Dependencies() {
		delete(missing, d.Name())
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("%s: charts/ lacks %s: run helm dependency update", r.chart,
			strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return "", fmt.Errorf("%s: dependencies: %w", r.chart, err)
	}
	name := r.name
	if name == "" {
		name = chart.Name()
	}
	options := common.ReleaseOptions{Name: name, Namespace: r.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return "", fmt.Errorf("%s: values: %w", r.chart, err)
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, crd := range chart.CRDObjects() {
		b.WriteString("---\n" + strings.TrimSpace(string(crd.File.Data)) + "\n")
	}
	for _, file := range slices.Sorted(maps.Keys(rendered)) {
		text := strings.TrimSpace(rendered[file])
		if base := path.Base(file); text != "" && !strings.HasPrefix(base, "_") && !strings.HasSuffix(base, ".txt") {
			b.WriteString("---\n# Source: " + file + "\n" + strings.TrimPrefix(text, "---\n") + "\n")
		}
	}
	return b.String(), nil
}

// read returns the values of all files: later ones count.
func (r *release) read() (map[string]any, error) {
	all := map[string]any{}
	for _, file := range r.values {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		values := map[string]any{}
		if err := yaml.Unmarshal(data, &values); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = util.MergeTables(values, all)
	}
	return all, nil
}
