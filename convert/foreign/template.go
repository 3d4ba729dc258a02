package foreign

import (
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Template returns an object of the input without what a template cannot have.
func Template(n *source.Node, report *Report, path string) *source.Node {
	out := &source.Node{Kind: source.Map, Pos: n.Pos}
	for _, f := range n.Fields {
		if f.Key.Value == "status" {
			report.Lost(f.Key.Pos, path+".status", "leave it to the controller of the kind", "a template has no status")
			continue
		}
		if f.Key.Value == "metadata" && f.Value.Kind == source.Map {
			f.Value = metadata(f.Value, report, path+".metadata")
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// metadata returns metadata without what reconcel or the API server sets.
func metadata(n *source.Node, report *Report, path string) *source.Node {
	out := &source.Node{Kind: source.Map, Pos: n.Pos}
	for _, f := range n.Fields {
		if why := syntax.RefusedMetadata(f.Key.Value); why == "" {
			out.Fields = append(out.Fields, f)
		} else if f.Value.Kind != source.Null {
			report.Lost(f.Key.Pos, path+"."+f.Key.Value, "", "%s", why)
		}
	}
	return out
}
