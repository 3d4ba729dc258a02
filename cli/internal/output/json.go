// Package output formats results as JSON, and knows what a terminal can show.
package output

import (
	"bytes"
	"encoding/json"
)

// JSON returns a value as indented JSON. It does not escape HTML, because messages
// quote expressions with < and &.
func JSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return b.Bytes(), err
}
