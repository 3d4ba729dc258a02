package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

const (
	mergeKey = "<<"
	// maxMerged bounds the entries that merge keys copy in one text.
	maxMerged = 1_000
	// maxExpanded bounds the values of one text, each alias counted as what it stands for.
	maxExpanded = 100_000
)

// unmarshalYAML reads one document. Like JSON, the result has texts as the keys of maps,
// and no times.
func unmarshalYAML(v ref.Val) ref.Val {
	docs, invalid := source.Nodes(source.File{Data: []byte(textOf(v))})
	if invalid != nil {
		// The message could quote the text.
		return failf("yaml.unmarshal(): line %d of the text is not valid YAML", invalid.Pos.Line)
	}
	switch {
	case len(docs) == 0:
		return types.NullValue
	case len(docs) > 1:
		return failf("yaml.unmarshal(): the text has %d documents: split it with split(\"\\n---\\n\")", len(docs))
	}
	r := yamlReader{anchored: map[*yaml.Node]yamlValue{}}
	value, err := r.read(docs[0].Content[0])
	if err != nil {
		return failf("yaml.unmarshal(): %s", err)
	}
	return types.DefaultTypeAdapter.NativeToValue(value.value)
}

// A yamlReader converts nodes to values. All aliases of a node share one value.
type yamlReader struct {
	anchored map[*yaml.Node]yamlValue
	merged   int
}

// A yamlValue is a converted node.
type yamlValue struct {
	value  any
	size   int // the values in it, including those behind aliases
	height int // the nesting of maps and lists
	open   bool
}

// contain adds a part.
func (v *yamlValue) contain(part yamlValue, n *yaml.Node) error {
	v.size += part.size
	v.height = max(v.height, part.height+1)
	switch {
	case v.size > maxExpanded:
		return yamlErrorf(n, "more than %d values", maxExpanded)
	case v.height > maxNesting:
		return yamlErrorf(n, "nested too deeply")
	}
	return nil
}

// yamlErrorf returns an error. Its arguments must not contain data.
func yamlErrorf(n *yaml.Node, format string, args ...any) error {
	return failure(fmt.Sprintf("line %d of the text: ", n.Line) + fmt.Sprintf(format, args...))
}

func (r *yamlReader) read(n *yaml.Node) (yamlValue, error) {
	if n.Kind == yaml.AliasNode {
		v := r.anchored[n.Alias]
		if v.open {
			return v, yamlErrorf(n, "an alias refers to what it is part of")
		}
		return v, nil
	}
	if n.Anchor != "" {
		r.anchored[n] = yamlValue{open: true}
	}
	v, err := r.convert(n)
	if n.Anchor != "" {
		r.anchored[n] = v
	}
	return v, err
}

func (r *yamlReader) convert(n *yaml.Node) (yamlValue, error) {
	switch {
	case n.Kind == yaml.SequenceNode && n.Tag == "!!seq":
		return r.list(n)
	case n.Kind == yaml.MappingNode && n.Tag == "!!map":
		return r.mapping(n)
	}
	value, err := scalarOf(n)
	return yamlValue{value: value, size: 1}, err
}

func (r *yamlReader) list(n *yaml.Node) (yamlValue, error) {
	items := make([]any, 0, len(n.Content))
	out := yamlValue{size: 1}
	for _, item := range n.Content {
		v, err := r.read(item)
		if err == nil {
			err = out.contain(v, item)
		}
		if err != nil {
			return out, err
		}
		items = append(items, v.value)
	}
	out.value = items
	return out, nil
}

// mapping reads a map. Its own entries count more than those of merge keys.
func (r *yamlReader) mapping(n *yaml.Node) (yamlValue, error) {
	fields := make(map[string]any, len(n.Content)/2)
	out := yamlValue{value: fields, size: 1}
	var merges []yamlValue
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := r.read(n.Content[i+1])
		if err == nil {
			err = out.contain(v, key)
		}
		if err != nil {
			return out, err
		}
		if key.Tag == "!!merge" {
			merges = append(merges, v)
			continue
		}
		if key.Anchor != "" {
			if _, err := r.read(key); err != nil {
				return out, err
			}
		}
		name, err := keyText(key)
		if err != nil {
			return out, err
		}
		if _, twice := fields[name]; twice {
			return out, yamlErrorf(key, "a key is given twice")
		}
		fields[name] = v.value
	}
	for _, v := range merges {
		if err := r.merge(fields, v.value, n); err != nil {
			return out, err
		}
	}
	return out, nil
}

// merge adds the entries of a map, or of each map of a list, that are not there yet.
func (r *yamlReader) merge(fields map[string]any, from any, n *yaml.Node) error {
	all, ok := from.([]any)
	if !ok {
		all = []any{from}
	}
	for _, one := range all {
		m, ok := one.(map[string]any)
		if !ok {
			return yamlErrorf(n, "<< needs a map or a list of maps")
		}
		if r.merged += len(m); r.merged > maxMerged {
			return yamlErrorf(n, "<< copies more than %d entries", maxMerged)
		}
		for key, value := range m {
			if _, known := fields[key]; !known {
				fields[key] = value
			}
		}
	}
	return nil
}

// keyText returns a key as it is written: numbers and booleans are texts there.
func keyText(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", yamlErrorf(n, "the keys of a map must be text")
	}
	return n.Value, nil
}

// scalarOf converts a text, number, boolean or null. A time stays text.
func scalarOf(n *yaml.Node) (any, error) {
	plain := strings.ReplaceAll(n.Value, "_", "")
	switch n.Tag {
	case "!!str", "!!timestamp":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		if b, err := strconv.ParseBool(n.Value); err == nil {
			return b, nil
		}
	case "!!int":
		if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return i, nil
		}
	case "!!float":
	default:
		return nil, yamlErrorf(n, "tags have no meaning here")
	}
	var number any
	if err := n.Decode(&number); err != nil {
		return nil, yamlErrorf(n, "the value does not have the type of its tag")
	}
	switch v := number.(type) {
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil // As in JSON, a number that is too large becomes a decimal one.
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, yamlErrorf(n, "infinite numbers and NaN cannot be stored in an object")
		}
		return v + 0, nil // Without a negative zero, which no object can store.
	case bool:
		return v, nil
	}
	return nil, yamlErrorf(n, "the value does not have the type of its tag")
}
