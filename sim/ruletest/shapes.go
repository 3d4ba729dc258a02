package ruletest

import "reconcel/rules/source"

// reasons are the failures that can be asked for.
var reasons = []string{
	"Forbidden", "NotFound", "AlreadyExists", "Conflict", "Invalid", "TooManyRequests", "InternalError", "ServiceUnavailable", "Timeout",
	"ConnectionLost",
}

var (
	manifest   = source.EitherOf(source.FilledText, source.AnyMap)
	manifests  = source.OneOrMany(manifest)
	references = source.OneOrMany(source.FilledText)
	paths      = source.OneOrMany(source.FilledText)

	fileShape = source.Shape{Doc: "Tests of rules: what happens to objects, and what the rules make of it.", Keys: []source.Key{
		{Name: "rules", Value: paths, Default: "rules.yaml",
			Doc: "The rules that are tested: a file or folder, or a list of them, relative to this file."},
		{Name: "crds", Value: paths,
			Doc: "CustomResourceDefinitions: files or folders, relative to this file. A kind without one keeps every field, and nothing is checked."},
		{Name: "cases", Value: source.ListOf(caseShape.Schema()), Required: true,
			Doc: "The tests. Each has a cluster of its own, so their order does not matter."},
	}, Wrong: map[string]source.WrongKey{
		"crd":   {Hint: "write crds:", Means: "crds"},
		"tests": {Hint: "write cases:", Means: "cases"},
	}}

	caseShape = source.Shape{Doc: "A test: objects, what happens to them, and what is there then.", Keys: []source.Key{
		{Name: "name", Value: source.FilledText, Required: true, Doc: "What is tested, as a sentence. `--run` selects by it."},
		{Name: "given", Value: manifests,
			Doc: "What is in the cluster at first: files of objects, relative to this one, or objects that are written out. The controller " +
				"does its work on them before the first step. A status counts. What has no namespace is in `default`."},
		{Name: "primary", Value: source.FilledText,
			Doc: "The object whose `status` and `conditions` are meant, as `Kind/name`. Default: the first one of the case that a rule is for."},
		{Name: "steps", Value: source.ListOf(stepShape.Schema()), Required: true,
			Doc: "What happens, one thing after another."},
	}}

	stepShape = source.Shape{Doc: "Something happens, the controller does its work, and then all is as expected.", Keys: []source.Key{
		{Name: "when", Value: source.OneOrMany(whenShape.Schema()),
			Doc: "What happens: one action, or a list of them with nothing in between. Without it the controller just works."},
		{Name: "then", Value: thenShape.Schema(), Doc: "What is expected when there is nothing left to do."},
	}}

	whenShape = source.Shape{Doc: "An action: one of `apply`, `patch`, `delete`, `ready`, `advance`, `fail`, `restart` and `rules`.", Keys: []source.Key{
		{Name: "apply", Value: manifests, Doc: "Objects that somebody applies: files, or objects that are written out."},
		{Name: "patch", Value: source.FilledText, Doc: "The object that somebody patches, as `Kind/name` or `Kind/namespace/name`, with `merge` or `json`."},
		{Name: "merge", Value: source.AnyMap, Doc: "A merge patch: `null` removes a field."},
		{Name: "json", Value: source.AnyList, Doc: "A JSON patch: a list of operations."},
		{Name: "subresource", Value: source.OneOf("status", "scale"), Doc: "The subresource that is patched, instead of the object itself."},
		{Name: "delete", Value: references, Doc: "Objects that somebody deletes: `Kind/name`, `Kind/namespace/name`, or a kind for all of it. A name may hold `*`."},
		{Name: "ready", Value: references,
			Doc: "Objects that get the status they have when all is well, as their own controllers would set it: a Deployment is available, a Job is complete, " +
				"a Pod runs. Custom resources get a condition Ready."},
		{Name: "advance", Value: source.DurationText, Doc: "Time that passes. What is due in it is done when it is."},
		{Name: "fail", Value: failShape.Schema(), Doc: "A request of the controller's that will fail."},
		{Name: "restart", Value: source.Boolean, Doc: "The controller ends and another one starts, which remembers nothing."},
		{Name: "rules", Value: paths,
			Doc: "Other rules take the place of those before, while the controller runs: a file or folder, or a list of them, relative to this file."},
	}}

	failShape = source.Shape{Doc: "The next request of the controller's that is like this fails. What is not said matches everything.", Keys: []source.Key{
		{Name: "verb", Value: source.OneOf("get", "list", "create", "update", "apply", "patch", "delete"),
			Doc: "What the request does. Children and status are written by `apply`."},
		{Name: "kind", Value: source.FilledText, Doc: "The kind that it is about."},
		{Name: "namespace", Value: source.FilledText, Doc: "The namespace."},
		{Name: "name", Value: source.FilledText, Doc: "The name of the object."},
		{Name: "subresource", Value: source.OneOf("status"), Doc: "What of the object, if it is its status."},
		{Name: "times", Value: source.WholeNumber(1), Default: "1", Doc: "How many requests fail. The case fails unless all of them have been made."},
		{Name: "error", Value: source.OneOf(reasons...), Default: "InternalError", Doc: "What is answered. `ConnectionLost` is no answer at all."},
		{Name: "message", Value: source.FilledText, Doc: "The message of the answer."},
		{Name: "lost", Value: source.Boolean, Default: "false", Doc: "The request is served all the same, and only its answer is replaced by the error."},
	}}

	thenShape = source.Shape{Doc: "What is expected.", Keys: []source.Key{
		{Name: "objects", Value: manifests,
			Doc: "Objects that are there and have at least the fields that are written. A list has as many items, in that order. " +
				"`null` is a field that is absent. Without a name: any object of the kind."},
		{Name: "exactly", Value: manifests,
			Doc: "Objects of which the rules set what is written, and nothing else. What others set does not count, such as defaults, " +
				"nor do reconcel's own marks."},
		{Name: "absent", Value: references, Doc: "Objects that are not there: `Kind/name`, `Kind/namespace/name`, or a kind for all of it. A name may hold `*`."},
		{Name: "count", Value: source.EntriesOf(source.WholeNumber(0)), Doc: "How many objects of a kind there are, in all namespaces, without those being deleted."},
		{Name: "status", Value: source.AnyMap, Doc: "Fields of the primary's status, compared as in `objects`."},
		{Name: "conditions", Value: source.EntriesOf(conditionValue),
			Doc: "Conditions of the primary by type: their status, or a map. `null`: there is none of the type."},
		{Name: "events", Value: source.OneOrMany(source.EitherOf(source.FilledText, eventShape.Schema())),
			Doc: "Events since the last step, like `Synced` or `Warning InvalidSpec`, in any order; others may have happened too. `[]`: none has."},
		{Name: "writes", Value: source.WholeNumber(0), Doc: "How many requests of the controller's were writes, since the last step."},
		{Name: "snapshot", Value: source.FilledText, Doc: "A file with all objects of the cluster, relative to this one. `--update` writes it."},
	}}

	conditionValue = source.EitherOf(source.FilledText, source.Boolean, conditionShape.Schema(), source.OnlyNull)

	conditionShape = source.Shape{Doc: "What of a condition is compared.", Keys: []source.Key{
		{Name: "status", Value: source.EitherOf(source.FilledText, source.Boolean), Doc: `"True", "False" or "Unknown".`},
		{Name: "reason", Value: source.FilledText, Doc: "The reason."},
		{Name: "message", Value: source.FilledText, Doc: "A part of the message."},
	}}

	eventShape = source.Shape{Doc: "An Event.", Keys: []source.Key{
		{Name: "type", Value: source.OneOf("Normal", "Warning"), Doc: "The type."},
		{Name: "reason", Value: source.FilledText, Doc: "The reason."},
		{Name: "note", Value: source.FilledText, Doc: "A part of the note."},
		{Name: "about", Value: source.FilledText, Doc: "The object that it is about, as `Kind/name` or `Kind/namespace/name`."},
	}}
)

// JSONSchema returns a JSON Schema of test files, by which editors complete and
// check them.
func JSONSchema() []byte { return fileShape.JSONSchema("reconcel schema --tests") }
