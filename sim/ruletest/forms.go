package ruletest

import "reconcel/rules/syntax"

// reasons are the failures that can be asked for.
var reasons = []string{
	"Forbidden", "NotFound", "AlreadyExists", "Conflict", "Invalid", "TooManyRequests", "InternalError", "ServiceUnavailable", "Timeout",
	"ConnectionLost",
}

var (
	manifest   = syntax.EitherOf(syntax.TextValue(), syntax.MapValue())
	manifests  = syntax.OneOrMany(manifest)
	references = syntax.OneOrMany(syntax.TextValue())
	paths      = syntax.OneOrMany(syntax.TextValue())

	fileForm = syntax.NewForm("Tests of rules: what happens to objects, and what the rules make of it.",
		syntax.Key{Name: "rules", Value: paths, Default: "rules.yaml",
			Doc: "The rules that are tested: a file or folder, or a list of them, relative to this file."},
		syntax.Key{Name: "crds", Value: paths,
			Doc: "CustomResourceDefinitions: files or folders, relative to this file. A kind without one keeps every field, and nothing is checked."},
		syntax.Key{Name: "cases", Value: syntax.ListOf(syntax.FormValue(caseForm)), Required: true,
			Doc: "The tests. Each has a cluster of its own, so their order does not matter."},
	).Means("crd", "crds").Means("tests", "cases")

	caseForm = syntax.NewForm("A test: objects, what happens to them, and what is there then.",
		syntax.Key{Name: "name", Value: syntax.TextValue(), Required: true, Doc: "What is tested, as a sentence. `--run` selects by it."},
		syntax.Key{Name: "given", Value: manifests,
			Doc: "What is in the cluster at first: files of objects, relative to this one, or objects that are written out. The controller " +
				"does its work on them before the first step. A status counts. What has no namespace is in `default`."},
		syntax.Key{Name: "primary", Value: syntax.TextValue(),
			Doc: "The object whose `status` and `conditions` are meant, as `Kind/name`. Default: the first one of the case that a rule is for."},
		syntax.Key{Name: "steps", Value: syntax.ListOf(syntax.FormValue(stepForm)), Required: true,
			Doc: "What happens, one thing after another."},
	)

	stepForm = syntax.NewForm("Something happens, the controller does its work, and then all is as expected.",
		syntax.Key{Name: "when", Value: syntax.OneOrMany(syntax.FormValue(whenForm)),
			Doc: "What happens: one action, or a list of them with nothing in between. Without it the controller just works."},
		syntax.Key{Name: "then", Value: syntax.FormValue(thenForm), Doc: "What is expected when there is nothing left to do."},
	)

	whenForm = syntax.NewForm("An action: one of `apply`, `patch`, `delete`, `ready`, `advance`, `fail`, `restart` and `rules`.",
		syntax.Key{Name: "apply", Value: manifests, Doc: "Objects that somebody applies: files, or objects that are written out."},
		syntax.Key{Name: "patch", Value: syntax.TextValue(), Doc: "The object that somebody patches, as `Kind/name` or `Kind/namespace/name`, with `merge` or `json`."},
		syntax.Key{Name: "merge", Value: syntax.MapValue(), Doc: "A merge patch: `null` removes a field."},
		syntax.Key{Name: "json", Value: syntax.ListValue(), Doc: "A JSON patch: a list of operations."},
		syntax.Key{Name: "subresource", Value: syntax.OneOf("status"), Doc: "What of the object is patched, if it is its status."},
		syntax.Key{Name: "delete", Value: references, Doc: "Objects that somebody deletes: `Kind/name`, `Kind/namespace/name`, or a kind for all of it. A name may hold `*`."},
		syntax.Key{Name: "ready", Value: references,
			Doc: "Objects that get the status they have when all is well, as their own controllers would set it: a Deployment is available, a Job is complete, " +
				"a Pod runs. Custom resources get a condition Ready."},
		syntax.Key{Name: "advance", Value: syntax.DurationValue(), Doc: "Time that passes. What is due in it is done when it is."},
		syntax.Key{Name: "fail", Value: syntax.FormValue(failForm), Doc: "A request of the controller's that will fail."},
		syntax.Key{Name: "restart", Value: syntax.BoolValue(), Doc: "The controller ends and another one starts, which remembers nothing."},
		syntax.Key{Name: "rules", Value: paths,
			Doc: "Other rules take the place of those before, while the controller runs: a file or folder, or a list of them, relative to this file."},
	)

	failForm = syntax.NewForm("The next request of the controller's that is like this fails. What is not said matches everything.",
		syntax.Key{Name: "verb", Value: syntax.OneOf("get", "list", "create", "update", "apply", "patch", "delete"),
			Doc: "What the request does. Children and status are written by `apply`."},
		syntax.Key{Name: "kind", Value: syntax.TextValue(), Doc: "The kind that it is about."},
		syntax.Key{Name: "namespace", Value: syntax.TextValue(), Doc: "The namespace."},
		syntax.Key{Name: "name", Value: syntax.TextValue(), Doc: "The name of the object."},
		syntax.Key{Name: "subresource", Value: syntax.OneOf("status"), Doc: "What of the object, if it is its status."},
		syntax.Key{Name: "times", Value: syntax.NumberValue(1), Default: "1", Doc: "How many requests fail. The case fails unless all of them have been made."},
		syntax.Key{Name: "error", Value: syntax.OneOf(reasons...), Default: "InternalError", Doc: "What is answered. `ConnectionLost` is no answer at all."},
		syntax.Key{Name: "message", Value: syntax.TextValue(), Doc: "The message of the answer."},
		syntax.Key{Name: "lost", Value: syntax.BoolValue(), Default: "false", Doc: "The request is served all the same, and only its answer is replaced by the error."},
	)

	thenForm = syntax.NewForm("What is expected.",
		syntax.Key{Name: "objects", Value: manifests,
			Doc: "Objects that are there and have at least the fields that are written. A list has as many items, in that order. " +
				"`null` is a field that is absent. Without a name: any object of the kind."},
		syntax.Key{Name: "exactly", Value: manifests,
			Doc: "Objects of which the rules set what is written, and nothing else. What others set does not count, such as defaults, " +
				"nor do reconcel's own marks."},
		syntax.Key{Name: "absent", Value: references, Doc: "Objects that are not there: `Kind/name`, `Kind/namespace/name`, or a kind for all of it. A name may hold `*`."},
		syntax.Key{Name: "count", Value: syntax.EntriesOf(syntax.NumberValue(0)), Doc: "How many objects of a kind there are, in all namespaces, without those being deleted."},
		syntax.Key{Name: "status", Value: syntax.MapValue(), Doc: "Fields of the primary's status, compared as in `objects`."},
		syntax.Key{Name: "conditions", Value: syntax.EntriesOf(conditionValue),
			Doc: "Conditions of the primary by type: their status, or a map. `null`: there is none of the type."},
		syntax.Key{Name: "events", Value: syntax.OneOrMany(syntax.EitherOf(syntax.TextValue(), syntax.FormValue(eventForm))),
			Doc: "Events since the last step, like `Synced` or `Warning InvalidSpec`, in any order; others may have happened too. `[]`: none has."},
		syntax.Key{Name: "writes", Value: syntax.NumberValue(0), Doc: "How many requests of the controller's were writes, since the last step."},
		syntax.Key{Name: "snapshot", Value: syntax.TextValue(), Doc: "A file with all objects of the cluster, relative to this one. `--update` writes it."},
	)

	conditionValue = syntax.EitherOf(syntax.TextValue(), syntax.BoolValue(), syntax.FormValue(conditionForm), syntax.NullValue())

	conditionForm = syntax.NewForm("What of a condition is compared.",
		syntax.Key{Name: "status", Value: syntax.EitherOf(syntax.TextValue(), syntax.BoolValue()), Doc: `"True", "False" or "Unknown".`},
		syntax.Key{Name: "reason", Value: syntax.TextValue(), Doc: "The reason."},
		syntax.Key{Name: "message", Value: syntax.TextValue(), Doc: "A part of the message."},
	)

	eventForm = syntax.NewForm("An Event.",
		syntax.Key{Name: "type", Value: syntax.OneOf("Normal", "Warning"), Doc: "The type."},
		syntax.Key{Name: "reason", Value: syntax.TextValue(), Doc: "The reason."},
		syntax.Key{Name: "note", Value: syntax.TextValue(), Doc: "A part of the note."},
		syntax.Key{Name: "about", Value: syntax.TextValue(), Doc: "The object that it is about, as `Kind/name` or `Kind/namespace/name`."},
	)
)

// JSONSchema returns a JSON Schema of test files, by which editors complete and
// check them.
func JSONSchema() []byte { return fileForm.JSONSchema("reconcel schema --tests") }

// Undescribed returns the keys of test files that have no description.
func Undescribed() []string { return fileForm.Undescribed() }
