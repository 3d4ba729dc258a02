package format

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

// errChanged is an error of this package: the layout would have another meaning.
var errChanged = errors.New("the layout would change the meaning of the file: please report this")

// Text lays out a file whose documents have a schema. The file must load. Its line ends
// stay as they are.
func Text(data []byte, root *source.Schema) ([]byte, error) {
	given := strings.TrimPrefix(string(data), "\ufeff")
	text := strings.ReplaceAll(given, "\r\n", "\n")
	documents, err := parse(text)
	if err != nil {
		return nil, err
	}
	text = quoted(text, documents)
	if documents, err = parse(text); err != nil {
		return nil, err
	}
	p := &printer{lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	out := strings.Join(p.documents(documents, root), "\n") + "\n"
	if !sameMeaning(given, out) {
		return nil, errChanged
	}
	if strings.Contains(given, "\r\n") {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return []byte(out), nil
}

// parse returns the documents of a text.
func parse(text string) (all []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		n := &yaml.Node{}
		if err := decoder.Decode(n); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}
