package ruletest

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A File is a test file that has the right keys. Its cases are not read yet, because
// that needs the rules and CRDs.
type File struct {
	Rules []source.String // paths, as written in the file
	CRDs  []source.String // paths, as written in the file

	source source.File
	cases  *source.Node
}

// Parse parses a test file. Its error is a source.Errors with all complaints about
// keys and types.
func Parse(file source.File) (*File, error) {
	root, err := fileShape.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return &File{Rules: literalsIn(root.At("rules")), CRDs: literalsIn(root.At("crds")), source: file,
		cases: root.At("cases")}, nil
}

// A Setting has the rules and kinds that the cases of a file need.
type Setting struct {
	Program *rules.Program
	Kinds   *sim.Kinds
	// Coverage records which expressions ran; nil records nothing. Files with the
	// same program may share one.
	Coverage *rules.Coverage
	// Load returns the rules in files and folders.
	Load func(paths []string) (*rules.Program, error)
	// Read returns the objects in a file.
	Read func(path string) ([]*unstructured.Unstructured, error)
}

// A Suite is a test file that is ready to run.
type Suite struct {
	name    string // of the file
	setting Setting
	cases   []*Case
}

// Prepare reads the cases, with the files and kinds that they name. Its error is a
// source.Errors with all complaints.
func (f *File) Prepare(setting Setting) (*Suite, error) {
	r := &reader{setting: setting, file: f.source.Name, kinds: newKindNames(setting), taken: map[string]source.Pos{}}
	suite := &Suite{name: f.source.Name, setting: setting}
	for _, n := range itemsIn(f.cases) {
		suite.cases = append(suite.cases, r.readCase(n))
	}
	if len(suite.cases) == 0 {
		r.entry = ""
		r.complain(f.cases.Pos, "", "there are no cases")
	}
	if err := source.Collect([]source.File{f.source}, r.errs).Err(); err != nil {
		return nil, err
	}
	return suite, nil
}

// besideFile returns a path in a test file, which is relative to the file, relative
// to the working directory.
func besideFile(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// literalAt returns the text under a key, or "".
func literalAt(n *source.Node, key string) string { return n.At(key).Literal().Value }

// itemsIn returns the items of a list. A single value is a list of one item.
func itemsIn(n *source.Node) []*source.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != source.List:
		return []*source.Node{n}
	}
	return n.Items
}

func literalsIn(n *source.Node) (all []source.String) {
	for _, item := range itemsIn(n) {
		all = append(all, item.Literal())
	}
	return all
}

// reasons are the possible errors of a failing request.
var reasons = []string{
	"Forbidden", "NotFound", "AlreadyExists", "Conflict", "Invalid", "TooManyRequests", "InternalError",
	"ServiceUnavailable", "Timeout",
	"ConnectionLost",
}

var (
	manifests  = source.OneOrMany(source.EitherOf(source.FilledText, source.AnyMap))
	references = source.OneOrMany(source.FilledText)
	paths      = source.OneOrMany(source.FilledText)

	fileShape = source.Shape{Doc: "Tests of rules: what happens to objects, and what the rules do.", Keys: []source.Key{
		{Name: "rules", Value: paths, Default: "rules.yaml",
			Doc: "The rules to test: a file or folder, or a list of them, relative to this file."},
		{Name: "crds", Value: paths,
			Doc: "CustomResourceDefinitions: files or folders, relative to this file. A custom kind without one keeps all " +
				"fields unchecked."},
		{Name: "cases", Value: source.ListOf(caseShape.Schema()), Required: true,
			Doc: "The tests. Each has its own cluster, so their order does not matter."},
	}, Wrong: map[string]source.WrongKey{
		"crd":   {Hint: "write crds:", Means: "crds"},
		"tests": {Hint: "write cases:", Means: "cases"},
	}}

	caseShape = source.Shape{Doc: "A test: objects, what happens to them, and what you expect.", Keys: []source.Key{
		{Name: "name", Value: source.FilledText, Required: true,
			Doc: "What is tested, as a sentence. `--run` selects cases by it."},
		{Name: "given", Value: manifests,
			Doc: "The objects in the cluster at the start: files relative to this one, or objects. The controller " +
				"reconciles them before the first step. Their status is kept. Objects without a namespace are in `default`."},
		{Name: "primary", Value: source.FilledText,
			Doc: "The object that `status` and `conditions` refer to, as `Kind/name`. Default: the first object of the case " +
				"that a rule is for."},
		{Name: "steps", Value: source.ListOf(stepShape.Schema()), Required: true,
			Doc: "The steps, in order."},
	}}

	stepShape = source.Shape{Doc: "Actions, the reactions of the controller, and expectations.", Keys: []source.Key{
		{Name: "when", Value: source.OneOrMany(whenShape.Schema()),
			Doc: "One action, or a list of actions that happen at once. Without it, only the controller acts."},
		{Name: "then", Value: thenShape.Schema(), Doc: "What you expect when the controller has nothing left to do."},
	}}

	whenShape = source.Shape{Doc: "An action: one of `apply`, `patch`, `delete`, `ready`, `advance`, `fail`, `restart` " +
		"and `rules`.", Keys: []source.Key{
		{Name: "apply", Value: manifests, Doc: "Objects to apply: files, or objects."},
		{Name: "patch", Value: source.FilledText,
			Doc: "The object to patch, as `Kind/name` or `Kind/namespace/name`, with `merge` or `json`."},
		{Name: "subresource", Value: source.OneOf("status", "scale"),
			Doc: "The subresource that is patched, instead of the object itself."},
		{Name: "merge", Value: source.AnyMap, Doc: "A merge patch: `null` removes a field."},
		{Name: "json", Value: source.AnyList, Doc: "A JSON patch: a list of operations."},
		{Name: "delete", Value: references, Doc: "Objects to delete: `Kind/name`, `Kind/namespace/name`, or a kind for all " +
			"its objects. A name may contain `*`."},
		{Name: "ready", Value: references,
			Doc: "Objects that become ready, with the status that their own controllers would set: a Deployment is available, " +
				"a Job is complete, " +
				"a Pod runs. Custom resources get the condition Ready."},
		{Name: "advance", Value: source.DurationText, Doc: "Time to pass. The controller does what is due, at its time."},
		{Name: "fail", Value: failShape.Schema(), Doc: "A request of the controller that fails."},
		{Name: "restart", Value: source.Boolean, Doc: "Restarts the controller, which loses everything in its memory."},
		{Name: "rules", Value: paths,
			Doc: "Reloads the controller with other rules: a file or folder, or a list of them, relative to this file."},
	}}

	failShape = source.Shape{Doc: "The next matching request of the controller fails. A key that is omitted matches " +
		"everything.", Keys: []source.Key{
		{Name: "verb", Value: source.OneOf("get", "list", "create", "update", "apply", "patch", "delete"),
			Doc: "The verb of the request. Children and status are written by `apply`."},
		{Name: "kind", Value: source.FilledText, Doc: "The kind of the object."},
		{Name: "namespace", Value: source.FilledText, Doc: "The namespace."},
		{Name: "name", Value: source.FilledText, Doc: "The name of the object."},
		{Name: "subresource", Value: source.OneOf("status"), Doc: "The subresource, if it is the status."},
		{Name: "times", Value: source.EitherOf(source.WholeNumber(1), source.OneOf("always")), Default: "1",
			Doc: "The number of requests that fail, or `always`: until the last step is done. The case fails unless the " +
				"controller sends all of them, or one."},
		{Name: "error", Value: source.OneOf(reasons...), Default: "InternalError",
			Doc: "The answer. `ConnectionLost` means no answer."},
		{Name: "message", Value: source.FilledText, Doc: "The message of the answer."},
		{Name: "lost", Value: source.Boolean, Default: "false",
			Doc: "The request takes effect, and only its answer is replaced by the error."},
	}}

	thenShape = source.Shape{Doc: "The expectations.", Keys: []source.Key{
		{Name: "count", Value: source.EntriesOf(source.WholeNumber(0)),
			Doc: "The number of objects of a kind, in all namespaces, without those being deleted and without the namespaces " +
				"that every cluster has."},
		{Name: "absent", Value: references, Doc: "Objects that do not exist: `Kind/name`, `Kind/namespace/name`, or a kind " +
			"for all its objects. A name may contain `*`."},
		{Name: "objects", Value: manifests,
			Doc: "Objects that exist and have at least these fields. A list has exactly these items, in that order. " +
				"`null` means that the field is absent. Without a name: any object of the kind."},
		{Name: "exactly", Value: manifests,
			Doc: "Objects in which the rules set exactly these fields. Fields that others set do not count, such as defaults, " +
				"nor do labels, annotations and finalizers of reconcel."},
		{Name: "status", Value: source.AnyMap, Doc: "Fields of the primary's status, compared as in `objects`."},
		{Name: "conditions", Value: source.EntriesOf(conditionValue),
			Doc: "Conditions of the primary by type: their status, or a map. `null`: the condition does not exist."},
		{Name: "events", Value: source.OneOrMany(source.EitherOf(source.FilledText, eventShape.Schema())),
			Doc: "Events since the last step, like `Synced` or `Warning InvalidSpec`, in any order; there may be others. " +
				"`[]`: there was none."},
		{Name: "writes", Value: source.WholeNumber(0), Doc: "The number of writes of the controller since the last step."},
		{Name: "snapshot", Value: source.FilledText,
			Doc: "A file with all objects of the cluster, relative to this one. `--update` writes it."},
	}}

	conditionValue = source.EitherOf(source.FilledText, source.Boolean, conditionShape.Schema(), source.OnlyNull)

	conditionShape = source.Shape{Doc: "The fields of a condition to compare.", Keys: []source.Key{
		{Name: "status", Value: source.EitherOf(source.FilledText, source.Boolean), Doc: `"True", "False" or "Unknown".`},
		{Name: "reason", Value: source.FilledText, Doc: "The reason."},
		{Name: "message", Value: source.FilledText, Doc: "A part of the message."},
	}}

	eventShape = source.Shape{Doc: "An Event.", Keys: []source.Key{
		{Name: "type", Value: source.OneOf("Normal", "Warning"), Doc: "The type."},
		{Name: "reason", Value: source.FilledText, Doc: "The reason."},
		{Name: "note", Value: source.FilledText, Doc: "A part of the note."},
		{Name: "about", Value: source.FilledText, Doc: "The object of the Event, as `Kind/name` or `Kind/namespace/name`."},
	}}
)

// JSONSchema returns a JSON Schema of test files. Editors use it for completion and
// validation.
func JSONSchema() []byte { return fileShape.JSONSchema("reconcel schema --tests") }

// Schema returns the schema of test files, for their documentation.
func Schema() *source.Schema { return fileShape.Schema() }
