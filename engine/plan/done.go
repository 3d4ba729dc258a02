package plan

import (
	"reconcel/engine/watch"
	"reconcel/rules"
)

// DoneText returns the annotation of a rule on a primary.
func DoneText(o *watch.Object, rule string) (text string, found bool) {
	metadata, _ := o.Content()["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, found = annotations[rules.DonePrefix+rule].(string)
	return text, found
}
