package syntax

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var ruleShape = shape{
	doc: "What reconcel does for the objects of one kind.",
	keys: []key{
		{name: "name", required: true, value: ruleName,
			doc: "A DNS label, unique among all rules. It stands in a label of every child: a rule under a new name is a new rule."},
		{name: "for", required: true, value: mapOf(&forShape),
			doc: "Which objects the rule is for. Each of them is a primary, `self` in expressions."},
		{name: "let", value: letData, doc: "Named values for the expressions of the rule: a string is an expression, a map or list " +
			"is data with `${...}`. In any order, but not in a circle."},
		{name: "lookups", value: listOf(mapOf(&lookupShape)), doc: "Other objects that the rule reads and does not own. They are watched."},
		{name: "validate", value: listOf(mapOf(&checkShape)),
			doc: "What must hold for an object. If it does not, the object is `Stalled` and what exists stays as it is."},
		{name: "children", value: listOf(mapOf(&childShape)), doc: "The objects that a primary owns, applied in the order in which they need each other."},
		{name: "patch", value: mapOf(&patchShape), doc: "Data that is written into the primary itself: labels, annotations, and fields " +
			"outside `metadata` and `status`. Written as a whole, once all of it is known."},
		{name: "status", value: statusData,
			doc: "Fields of the primary's status, as data. Each is written once it is known. For conditions there is `conditions`."},
		{name: "conditions", value: listOf(mapOf(&conditionShape)), doc: "Conditions of the primary besides `Ready`, `Reconciling` and `Stalled`."},
		{name: "finalize", value: listOf(mapOf(&finalizeShape)),
			doc: "What is made and waited for when the primary is deleted, before its children go: a backup, say."},
		{name: "teardown", value: choiceOf(teardowns), fallback: "background", doc: "How the children go when the primary is deleted."},
		{name: "requeueAfter", value: durationText, doc: "When to look at every primary again though nothing has changed, " +
			"at least `1s`. Never by default: everything that a rule reads is watched."},
		{name: "onRuleRemoval", value: choiceOf(removals), fallback: "keep", doc: "What becomes of all that the rule has made when it is taken out of the rules."},
		{name: "allow", value: mapOf(&allowShape), doc: "What the rule may do beyond the namespace of its primary. Nothing by default."},
		{name: "serviceAccountName", value: accountName, doc: "As which ServiceAccount the rule writes: `namespace/name`, or `name` for that " +
			"of the primary's own namespace. Literal. By default reconcel writes as itself."},
	},
	wrong: map[string]wrongKey{
		"when":      {hint: "write it into for"},
		"selector":  {hint: "write it into for"},
		"resources": {hint: "write children", means: "children"},
		"variables": {hint: "write let", means: "let"},
	},
}

// teardowns are the ways in which children go.
var teardowns = choices{
	{"background", "All at once, by the garbage collector where there is no `finalize`."},
	{"ordered", "In reverse order of what they need, each when those that need it are gone."},
}

// removals are what may become of the children of a rule that is taken out.
var removals = choices{
	{"keep", "It stays as it is. Nobody looks after it any more."},
	{"delete", "It is deleted, apart from children with `onDelete: orphan`, and the `patch` is taken back. " +
		"So it is when the rule was taken out while no process was running."},
}

// readRule reads one entry of rules.
func (s scope) readRule(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a rule")
		return
	}
	r := &Rule{Pos: s.text.pos(n)}
	// The name first: all other complaints carry it.
	if name := nameOf(n); name != "" {
		s.rule, s.path = name, ""
	}
	t := s.table(n, &ruleShape)
	r.Name = s.ruleName(t["name"])
	if t["for"] != nil {
		r.For = s.key("for").readFor(t["for"])
	}
	names := &names{taken: make(map[string]Pos)}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if value := n.Content[i+1]; t[n.Content[i].Value] != value {
			names.lose(value)
		}
	}
	r.Let = s.key("let").readLet(t["let"], names)
	r.Lookups = s.key("lookups").readLookups(t["lookups"], names)
	r.Validate = s.key("validate").readValidate(t["validate"])
	children := s.key("children").readSection(t["children"], &childShape, names)
	finalize := s.key("finalize").readSection(t["finalize"], &finalizeShape, names)
	names.settle()
	children.follow(finalize)
	finalize.follow(children)
	r.Children, r.Finalize = children.children(), finalize.children()
	r.Patch = s.key("patch").readPatch(t["patch"])
	r.Status = s.key("status").readStatus(t["status"])
	r.Conditions = s.key("conditions").readConditions(t["conditions"])
	r.Teardown = s.key("teardown").oneOf(t["teardown"], teardowns)
	r.RequeueAfter = s.key("requeueAfter").duration(t["requeueAfter"], time.Second)
	r.OnRuleRemoval = s.key("onRuleRemoval").oneOf(t["onRuleRemoval"], removals)
	r.Allow = s.key("allow").readAllow(t["allow"])
	r.Account = s.key("serviceAccountName").account(t["serviceAccountName"])
	r.Lost, r.Nameless = names.lost, names.nameless
	s.file.Rules = append(s.file.Rules, r)
}

// nameOf returns the name of a rule before anything of it has been checked.
func nameOf(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i+1]; n.Content[i].Value == "name" && name.Kind == yaml.ScalarNode && isText(name) {
			return name.Value
		}
	}
	return ""
}

// ruleName reads the name, which is also the value of a label.
func (s scope) ruleName(n *yaml.Node) String {
	name, ok := s.key("name").literal(n)
	if !ok {
		return name
	}
	if len(validation.IsDNS1123Label(name.Value)) > 0 {
		s.errorf(name.Pos, "name must be at most %d lower-case letters, digits and -, with a letter or digit at both ends", maxName)
		return name
	}
	if at, taken := s.names[name.Value]; taken {
		s.errorf(name.Pos, "name is taken by the rule at %s", at)
		return name
	}
	s.names[name.Value] = name.Pos
	return name
}

// claim takes a name for the expressions of a rule, if it is fit and free.
func (s scope) claim(name String, names *names) bool {
	if why := identifier(name.Value); why != "" {
		s.errorf(name.Pos, "%q %s", name.Value, why)
		names.misname(name.Value)
		return false
	}
	if at, taken := names.taken[name.Value]; taken {
		s.errorf(name.Pos, "%q is taken, at %s", name.Value, at)
		return false
	}
	names.taken[name.Value] = name.Pos
	return true
}

// maxLets is how many named values a rule may have: what is known of each of
// them grows with those that it mentions.
const maxLets = 500

// readLet reads the map of named values: a string is CEL, a map or list data.
func (s scope) readLet(n *yaml.Node, names *names) []*Let {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		names.lose(n)
		return nil
	}
	var lets []*Let
	for _, e := range s.entries(n) {
		if len(lets) == maxLets {
			s.errorf(e.key.Pos, "more than %d named values", maxLets)
			break
		}
		if e.key.Value == "" {
			s.errorf(e.key.Pos, "a name is empty")
			continue
		}
		let := &Let{Name: e.key, Unfit: !s.claim(e.key, names)}
		value := s.key(e.key.Value)
		if e.value.Kind == yaml.MappingNode || e.value.Kind == yaml.SequenceNode {
			let.Data = value.data(e.value)
		} else {
			let.Expr = value.expr(e.value)
		}
		lets = append(lets, let)
	}
	return lets
}

var checkShape = shape{
	doc: "A condition that an object must meet.",
	keys: []key{
		{name: "expression", required: true, value: boolExpr, doc: "What must be true, like `self.spec.size > 0`."},
		{name: "message", value: textData, doc: "What to tell people if it is not, with `${...}` for values. By default the expression itself."},
	},
	wrong: map[string]wrongKey{
		"expr": {hint: "write expression", means: "expression"},
		"rule": {hint: "write expression", means: "expression"},
		"cel":  {hint: "write expression", means: "expression"},
		"msg":  {hint: "write message", means: "message"},
	},
}

func (s scope) readValidate(n *yaml.Node) []*Check {
	var checks []*Check
	for i, item := range s.list(n) {
		s := s.index(i).named("")
		t := s.table(item, &checkShape)
		checks = append(checks, &Check{
			Pos:        s.text.pos(item),
			Entry:      s.entry,
			Expression: s.key("expression").expr(t["expression"]),
			Message:    s.key("message").sentence(t["message"]),
		})
	}
	return checks
}

// readStatus reads the fields of status that the rule writes.
func (s scope) readStatus(n *yaml.Node) *Node {
	if isNull(n) || broken(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return nil
	}
	d := s.data(n)
	for i, f := range d.Fields {
		if f.Key.Value == "conditions" {
			s.errorf(f.Key.Pos, "conditions cannot be set here").Hint = "use conditions: of the rule"
			d.Fields = append(d.Fields[:i], d.Fields[i+1:]...)
			break
		}
	}
	return d
}

var conditionShape = shape{
	doc: "A condition of the primary.",
	keys: []key{
		{name: "type", required: true, value: conditionName, doc: "Its name, like `Available`. `Ready`, `Reconciling` and `Stalled` are reconcel's own."},
		{name: "when", required: true, value: boolExpr, doc: "Whether it is `True` or `False`. While that is not known, it is `Unknown`."},
		{name: "reason", value: reasonData, doc: "One word for programs, like `Enough`, or data. By default the type, or `Not` and the type."},
		{name: "message", value: textData, doc: "A sentence for people, with `${...}` for values. Empty by default."},
	},
}

// ownConditions are those that reconcel sets itself.
var ownConditions = []string{"Ready", "Reconciling", "Stalled", "Kept"}

func (s scope) readConditions(n *yaml.Node) []*Condition {
	var conditions []*Condition
	types := make(map[string]Pos)
	for i, item := range s.list(n) {
		s := s.index(i)
		t := s.named("").table(item, &conditionShape)
		if t == nil {
			continue
		}
		s = s.named(scalarText(t["type"]))
		conditions = append(conditions, &Condition{
			Pos:     s.text.pos(item),
			Entry:   s.entry,
			Type:    s.conditionType(t["type"], types),
			When:    s.key("when").expr(t["when"]),
			Reason:  s.key("reason").reason(t["reason"]),
			Message: s.key("message").sentence(t["message"]),
		})
	}
	return conditions
}

// scalarText returns the text of a scalar, to name an entry by.
func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func (s scope) conditionType(n *yaml.Node, types map[string]Pos) String {
	typ, ok := s.key("type").literal(n)
	if !ok {
		return typ
	}
	switch at, taken := types[typ.Value]; {
	case slices.Contains(ownConditions, typ.Value):
		s.errorf(typ.Pos, "type %s is reconcel's own", typ.Value).Hint = "choose another name"
		return String{}
	case len(validation.IsQualifiedName(typ.Value)) > 0:
		s.errorf(typ.Pos, "type must be letters, digits, -, _ and ., with a letter or digit at both ends")
		return String{}
	case taken:
		s.errorf(typ.Pos, "type is taken, at %s", at)
		return String{}
	}
	types[typ.Value] = typ.Pos
	return typ
}

// reason reads a word for programs, which the API server holds to a form.
func (s scope) reason(n *yaml.Node) *Node {
	d := s.sentence(n)
	if d == nil || d.Kind != Text {
		return d
	}
	if word := d.Value.(string); !isReason(word) {
		e := s.errorf(d.Pos, "%q must be one word of letters, digits and _", word)
		if strings.Contains(word, " ") {
			e.Hint = "write CamelCase here and put the sentence into message"
		}
		return nil
	}
	return d
}

func isReason(word string) bool {
	if word == "" || !isLetter(rune(word[0])) || strings.HasSuffix(word, ",") || strings.HasSuffix(word, ":") {
		return false
	}
	for _, r := range word {
		if !isIdent(r) && r != ',' && r != ':' {
			return false
		}
	}
	return true
}
