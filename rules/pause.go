package rules

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// pausing maps the values of AnnotationPaused to whether they pause a primary.
// Letter case is ignored.
var pausing = map[string]bool{
	"true": true, "t": true, "yes": true, "y": true, "on": true, "1": true,
	"false": false, "f": false, "no": false, "n": false, "off": false, "0": false, "": false,
}

// Paused reports whether AnnotationPaused pauses an object. A value that is neither
// true nor false does not pause it: a typing error must not silently stop repairs
// and deletions. PauseMistake reports such a value.
func Paused(object map[string]any) bool {
	value, ok := mapAt(object, "metadata", "annotations")[AnnotationPaused].(string)
	if !ok {
		return false
	}
	yes, _ := parsePause(value)
	return yes
}

// parsePause reports whether a value pauses, and whether the value is known.
func parsePause(value string) (yes, understood bool) {
	yes, understood = pausing[strings.ToLower(strings.TrimSpace(value))]
	return yes, understood
}

// PauseMistake describes an attempt to pause an object that has no effect: a value
// that is neither true nor false, a misspelt annotation, or a label. It returns ""
// if there is no such attempt, or if the object is paused.
func PauseMistake(object map[string]any) string {
	metadata := mapAt(object, "metadata")
	annotations := mapAt(metadata, "annotations")
	if value, ok := annotations[AnnotationPaused].(string); ok {
		switch yes, understood := parsePause(value); {
		case yes:
			return ""
		case !understood:
			return fmt.Sprintf("annotation %s has the value %q, which is neither true nor false: the resource is not paused "+
				"(write true)",
				AnnotationPaused, abbreviate(value))
		}
	}
	if key := misspeltPause(annotations); key != "" {
		return fmt.Sprintf("annotation %s has no meaning: the resource is not paused (did you mean %s?)", key,
			AnnotationPaused)
	}
	labels := mapAt(metadata, "labels")
	if value, ok := labels[AnnotationPaused].(string); ok && mayMeanPause(value) {
		return fmt.Sprintf("label %s has no meaning: the resource is not paused (set it as an annotation)", AnnotationPaused)
	}
	if key := misspeltPause(labels); key != "" {
		return fmt.Sprintf("label %s has no meaning: the resource is not paused (did you mean the annotation %s?)", key,
			AnnotationPaused)
	}
	return ""
}

// mayMeanPause reports whether a value under a wrong key may be meant to pause.
func mayMeanPause(value string) bool {
	yes, understood := parsePause(value)
	return yes || !understood
}

// misspeltPause returns the first key that may be a misspelling of AnnotationPaused, or
// "".
func misspeltPause(marks map[string]any) string {
	first := ""
	for key, value := range marks {
		name, own := strings.CutPrefix(key, reserved)
		if !own || key == AnnotationPaused || slices.Contains(ownMarks, key) {
			continue
		}
		if text, _ := value.(string); mayMeanPause(text) && resemblesPaused(name) && (first == "" || key < first) {
			first = key
		}
	}
	return first
}

// resemblesPaused reports whether a name after reconcel's prefix may mean "paused".
func resemblesPaused(name string) bool {
	name = strings.ToLower(name)
	return name == "paused" || name == "suspend" || name == "suspended" || source.Nearest(name, []string{"paused"}) != ""
}

// abbreviate returns the beginning of a text.
func abbreviate(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
