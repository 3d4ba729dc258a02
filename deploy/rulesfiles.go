package deploy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validation"

	"reconcel/rules/source"
)

// A RulesFile is a rules file, or a file that rules read, with its key in the ConfigMap.
type RulesFile struct {
	Key  string
	Path string // in the folder where the ConfigMap is mounted; "": the key
	Text []byte
}

// mostRules is the API server's limit for the size of a ConfigMap, in bytes.
const mostRules = 1 << 20

// Files returns rules files, and the files that they read, with their keys in a ConfigMap. The key is the file
// name. If two rules files have the same name, the folder names are added.
func Files(sources []source.File) ([]RulesFile, error) {
	var files []RulesFile
	for i, s := range sources {
		files = append(files, RulesFile{Key: keyOf(sources, i), Text: s.Data})
	}
	paths := map[string][]byte{}
	for _, s := range sources {
		for _, t := range s.Beside {
			f := besideOf(t)
			if before, known := paths[f.Path]; known && bytes.Equal(before, f.Text) {
				continue // Another expression reads it, too.
			}
			paths[f.Path] = f.Text
			files = append(files, f)
		}
	}
	size := 0
	slices.SortFunc(files, func(a, b RulesFile) int { return cmp.Compare(a.Key, b.Key) })
	for i, f := range files {
		if i > 0 && f.Key == files[i-1].Key {
			return nil, fmt.Errorf("two files would both be %s in the ConfigMap: rename one", f.Key)
		}
		size += len(f.Text)
	}
	if size > mostRules {
		return nil, fmt.Errorf("the rules and the files that they read have %d bytes, a ConfigMap holds %d: split them into "+
			"two installations with two names", size, mostRules)
	}
	return files, nil
}

// besideOf returns a file that rules read. Keys have no folders.
func besideOf(t source.TextFile) RulesFile {
	f := RulesFile{Path: path.Clean(t.Path), Text: []byte(t.Text)}
	f.Key = notInKey.ReplaceAllString(strings.ReplaceAll(f.Path, "/", "-"), "")
	return f
}

// itemsOf returns the items of the volume with the ConfigMap: where the files are. It returns nil if all are where
// their keys say.
func itemsOf(files []RulesFile) *yaml.Node {
	items, same := &yaml.Node{Kind: yaml.SequenceNode}, true
	for _, f := range files {
		at := cmp.Or(f.Path, f.Key)
		items.Content = append(items.Content, mapNode(textNode("key"), textNode(f.Key), textNode("path"), textNode(at)))
		same = same && at == f.Key
	}
	if same {
		return nil
	}
	return items
}

// NeedServerSide reports whether rules files are too large for a client-side kubectl apply, which stores a whole
// object in an annotation of it.
func (o Options) NeedServerSide(files []RulesFile) bool {
	if o.RulesObjects {
		return slices.ContainsFunc(files, func(f RulesFile) bool { return isLarge(f.Key, string(f.Text)) })
	}
	var content []string
	for _, f := range files {
		content = append(content, f.Key, string(f.Text))
	}
	return isLarge(content...)
}

// isLarge reports whether an object with these texts is larger than its annotations may be together.
func isLarge(content ...string) bool {
	stored, err := json.Marshal(content)
	const others = 4 << 10 // the other fields and annotations of the object
	return err == nil && len(stored)+others > validation.TotalAnnotationSizeLimitB
}

// keyOf returns the shortest suffix of a file's path that is unique.
func keyOf(sources []source.File, i int) string {
	most := strings.Count(filepath.ToSlash(sources[i].Name), "/") + 1
	for n := 1; ; n++ {
		key := lastSegments(sources[i].Name, n)
		same := func(s source.File) bool { return lastSegments(s.Name, n) == key }
		others := slices.Concat(sources[:i], sources[i+1:])
		if n >= most || !slices.ContainsFunc(others, same) {
			return key
		}
	}
}

var notInKey = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// lastSegments returns the last n elements of a path as a ConfigMap key. The key has an
// extension of rules files and no leading dot, so that the engine loads the file.
func lastSegments(path string, n int) string {
	steps := strings.Split(filepath.ToSlash(path), "/")
	key := notInKey.ReplaceAllString(strings.Join(steps[max(0, len(steps)-n):], "-"), "")
	key = strings.TrimLeft(key, ".-")
	if ext := filepath.Ext(key); ext != ".yaml" && ext != ".yml" {
		key += ".yaml"
	}
	return key
}

// configMapData returns the files as the data of a ConfigMap.
func configMapData(files []RulesFile) *yaml.Node {
	n := mapNode()
	for _, f := range files {
		n.Content = append(n.Content, textNode(f.Key),
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.LiteralStyle, Value: string(f.Text)})
	}
	return n
}
