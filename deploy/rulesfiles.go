package deploy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validation"

	"reconcel/rules/source"
)

// A RulesFile is one rules file with its key in the ConfigMap.
type RulesFile struct {
	Key  string
	Text []byte
}

// mostRules is the API server's limit for the size of a ConfigMap, in bytes.
const mostRules = 1 << 20

// Files returns rules files with their keys in a ConfigMap. The key is the file
// name. If two files have the same name, the folder names are added.
func Files(sources []source.File) ([]RulesFile, error) {
	var files []RulesFile
	size := 0
	for i, s := range sources {
		files = append(files, RulesFile{Key: keyOf(sources, i), Text: s.Data})
		size += len(s.Data)
	}
	slices.SortFunc(files, func(a, b RulesFile) int { return cmp.Compare(a.Key, b.Key) })
	for i := 1; i < len(files); i++ {
		if files[i].Key == files[i-1].Key {
			return nil, fmt.Errorf("two rules files would both be %s in the ConfigMap: rename one", files[i].Key)
		}
	}
	if size > mostRules {
		return nil, fmt.Errorf("the rules have %d bytes, a ConfigMap holds %d: split them into two installations with two "+
			"names", size, mostRules)
	}
	return files, nil
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
