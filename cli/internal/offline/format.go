package offline

import (
	"bytes"

	"reconcel/cli/internal/output"
	"reconcel/internal/yamltext"
)

// Format returns the result for stdout: YAML with comments for people, or a JSON
// List for programs.
func (r *Renderer) Format(format string) ([]byte, error) {
	if format == "json" {
		return r.json()
	}
	var b bytes.Buffer
	for i, item := range r.items {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(item.comment)
		b.WriteByte('\n')
		text, err := yamltext.Marshal(item.object)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

func (r *Renderer) json() ([]byte, error) {
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}{"v1", "List", r.Objects()}
	return output.JSON(list)
}

// Objects returns the objects of the result.
func (r *Renderer) Objects() []map[string]any {
	all := []map[string]any{}
	for _, item := range r.items {
		all = append(all, item.object)
	}
	return all
}
