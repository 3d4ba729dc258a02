package syntax

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

// AnnotationApprove on a Rules object has the hashes of held changes of its rules that take effect, separated by spaces
// or commas.
const AnnotationApprove = group + "/approve"

// An Origin says which Rules object or file has a rule.
type Origin struct {
	Object string // the name of the Rules object; "": the document is only read as a file
	File   string // "" for an object: it may come as several files
}

// A Document has rules.
type Document struct {
	Origin
	Approved []string // hashes of changes
}

// documentOf returns the document in a file with these metadata.
func documentOf(file string, metadata source.Value) Document {
	d := Document{Origin: Origin{Object: cmp.Or(metadata.Peek("name").Scalar(), ObjectIn(file))}}
	if d.Object == "" {
		d.File = file
	}
	d.Approved = strings.FieldsFunc(metadata.Peek("annotations").Peek(AnnotationApprove).Scalar(),
		func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	return d
}

// objectPrefix begins the names of the files that are objects.
const objectPrefix = Kind + " "

// ObjectFile returns the name of the file that stands for a Rules object.
func ObjectFile(namespace, name string) string { return objectPrefix + namespace + "/" + name }

// ObjectIn returns the name of the Rules object that a file stands for, or "" for another file.
func ObjectIn(file string) string {
	id, found := strings.CutPrefix(file, objectPrefix)
	if _, name, parted := strings.Cut(id, "/"); found && parted && !strings.Contains(name, "/") {
		return name
	}
	return ""
}

// A document is also the Rules object that kubectl and others apply, so it may have what an object has. Nothing of it
// changes what the rules do, and AnnotationApprove says when they do it.
var (
	objectMetadataShape = source.Shape{
		Doc: "The metadata of the Rules object that the document is in a cluster.",
		Keys: []source.Key{
			{Name: "name", Value: objectName, Doc: "The name of the object. A document that is only read as a file needs none."},
			{Name: "namespace", Value: orNothing(objectNamespace),
				Doc: "The namespace of the object, which is that of the installation."},
			{Name: "labels", Value: objectMarks, Doc: "Labels of the object."},
			{Name: "annotations", Value: objectMarks, Doc: "Annotations of the object."},
		},
		Others: anything,
	}
	objectName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^` + subdomain + `$`,
		Expected: "Expected lower-case letters, digits, - and ., with a letter or digit at both ends.",
	}
	objectNamespace = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(` + label + `)?$`,
		Expected: "Expected the name of a namespace.",
	}
	objectMarks = &source.Schema{Type: source.Types{"object", "null"},
		Others: &source.Schema{Type: source.Types{"string", "null"}}}
)

// checkObject records an error for metadata that the API server would reject, and, in a document that is an object,
// for what others would read differently.
func checkObject(doc, metadata source.Value) {
	switch {
	case metadata.IsNull():
		return
	case !metadata.IsMap():
		metadata.WrongShape("a map")
		return
	}
	if !metadata.Peek("name").Missing() {
		doc.RejectOldBooleans()
		rejectLostOrders(doc.Peek("rules"))
	}
	for _, e := range metadata.Entries() {
		switch v := e.Value; e.Key.Value {
		case "name":
			if v.IsTextOf("a string") && len(validation.IsDNS1123Subdomain(v.Scalar())) > 0 {
				v.Errorf("%q is not the name of an object", v.Scalar()).Hint =
					"lower-case letters, digits, - and ., with a letter or digit at both ends"
			}
		case "namespace":
			if !v.IsNull() && v.IsTextOf("a string") && v.Scalar() != "" && len(validation.IsDNS1123Label(v.Scalar())) > 0 {
				v.Errorf("%q is not the name of a namespace", v.Scalar())
			}
		case "labels", "annotations":
			checkObjectMarks(v)
		}
	}
}

// rejectLostOrders records an error for each forEach whose lists have another order in an object: its keys are sorted.
func rejectLostOrders(rules source.Value) {
	for _, rule := range rules.PeekItems() {
		for _, section := range []string{"children", "conditions"} {
			for _, entry := range rule.Peek(section).PeekItems() {
				each := entry.Peek("forEach")
				var names []string
				for key := range each.PeekPairs() {
					names = append(names, key.Scalar())
				}
				if !slices.IsSorted(names) {
					each.Errorf("the API server sorts the names, so that the lists have another order").Hint =
						"write a list, like [{name: " + names[0] + ", in: ...}, {name: " + names[1] + ", in: ...}]"
				}
			}
		}
	}
}

func checkObjectMarks(v source.Value) {
	if v.IsNull() {
		return
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		return
	}
	for _, e := range v.Entries() {
		if !e.Value.IsNull() {
			e.Value.IsTextOf("a string")
		}
	}
}
