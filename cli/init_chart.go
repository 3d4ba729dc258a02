package cli

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/files"
	"reconcel/internal/conversion"
)

// readChart returns the manifests of a chart.
func (c initCommand) readChart(f *initFlags) ([]*unstructured.Unstructured, error) {
	args := []string{conversion.Chart}
	if f.name != "" {
		args = append(args, "-name", f.name)
	}
	if f.namespace != "" {
		args = append(args, "-namespace", f.namespace)
	}
	for _, file := range f.values {
		args = append(args, "-values", file)
	}
	out, err := runConvert("render the chart", nil, append(args, f.chart)...)
	if err != nil {
		return nil, err
	}
	return manifestsIn(files.Reader{Stdin: bytes.NewReader(out)}, []string{files.Stdin})
}
