package crossplane

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// A loss is a part of a transform or patch without a counterpart, and what to do instead.
type loss struct {
	pos     source.Pos
	what    string
	instead string
}

func (l *loss) Error() string { return l.what }

func lost(n *source.Node, instead, format string, args ...any) error {
	return &loss{n.Pos, fmt.Sprintf(format, args...), instead}
}

// quoted returns a text as a literal.
func quoted(s string) string {
	text, err := unchecked.Print(unchecked.Make.NewLiteral(0, types.String(s)))
	if err != nil {
		return strconv.Quote(s)
	}
	return text
}

// literal returns a value without expressions as a literal: JSON is CEL, apart from the
// escapes of its texts.
func literal(n *source.Node) string {
	switch n.Kind {
	case source.Map:
		var all []string
		for _, f := range n.Fields {
			all = append(all, quoted(f.Key.Value)+": "+literal(f.Value))
		}
		return "{" + strings.Join(all, ", ") + "}"
	case source.List:
		var all []string
		for _, item := range n.Items {
			all = append(all, literal(item))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case source.Text:
		return quoted(n.Literal().Value)
	case source.Interp:
		return joined(n)
	case source.Null:
		return "null"
	case source.Float:
		text := fmt.Sprint(n.Value)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(n.Value)
}

// joined returns text with expressions as one expression.
func joined(n *source.Node) string {
	var all []string
	for _, p := range n.Parts {
		switch {
		case p.Expr == nil:
			all = append(all, quoted(p.Text))
		case len(n.Parts) == 1:
			all = append(all, p.Expr.Text)
		default:
			all = append(all, "string("+p.Expr.Text+")")
		}
	}
	return strings.Join(all, " + ")
}

// transformed returns an expression of a value after all transforms of a patch.
func transformed(value string, transforms *source.Node) (string, error) {
	if transforms == nil {
		return value, nil
	}
	for _, t := range transforms.Items {
		of := t.At("type").Literal().Value
		if of == "" {
			return "", lost(t, "write its type", "the transform has no type")
		}
		apply := map[string]func(string, *source.Node) (string, error){
			"map": mapped, "match": matched, "math": calculated, "string": written, "convert": converted,
		}[of]
		settings := t.At(of)
		if apply == nil || settings == nil {
			return "", lost(t, "write it as an expression", "the transform %s has no counterpart", of)
		}
		var err error
		if value, err = apply(value, settings); err != nil {
			return "", err
		}
	}
	return value, nil
}

func mapped(value string, n *source.Node) (string, error) {
	if pairs := n.At("pairs"); pairs != nil {
		n = pairs
	}
	return literal(n) + "[" + value + "]", nil
}

// matched returns a chain of conditionals.
func matched(value string, n *source.Node) (string, error) {
	fallback := "null"
	if f := n.At("fallbackValue"); f != nil {
		fallback = literal(f)
	}
	if n.At("fallbackTo").Literal().Value == "Input" {
		fallback = value
	}
	out := fallback
	patterns := n.At("patterns")
	if patterns == nil {
		return out, nil
	}
	for i := len(patterns.Items) - 1; i >= 0; i-- {
		p := patterns.Items[i]
		result := "null"
		if r := p.At("result"); r != nil {
			result = literal(r)
		}
		condition := value + " == " + quoted(p.At("literal").Literal().Value)
		if p.At("type").Literal().Value == "regexp" {
			condition = value + ".matches(" + quoted(p.At("regexp").Literal().Value) + ")"
		}
		out = condition + " ? " + result + " : (" + out + ")"
	}
	return "(" + out + ")", nil
}

func calculated(value string, n *source.Node) (string, error) {
	of := n.At("type").Literal().Value
	key := map[string]string{"": "multiply", "Multiply": "multiply", "ClampMin": "clampMin", "ClampMax": "clampMax"}[of]
	by := n.At(key)
	if key == "" || by == nil {
		return "", lost(n, "write it as an expression", "the calculation %s has no counterpart", of)
	}
	switch key {
	case "multiply":
		return "(" + value + ") * " + literal(by), nil
	case "clampMin":
		return "math.greatest(" + value + ", " + literal(by) + ")", nil
	}
	return "math.least(" + value + ", " + literal(by) + ")", nil
}

// written applies a transform of text.
func written(value string, n *source.Node) (string, error) {
	argument := func(key string) string { return n.At(key).Literal().Value }
	switch of := n.At("type").Literal().Value; of {
	case "", "Format":
		return formatted(n.At("fmt"), []string{value})
	case "TrimPrefix":
		return fmt.Sprintf("(%[1]s.startsWith(%[2]s) ? %[1]s.substring(size(%[2]s)) : %[1]s)", value,
			quoted(argument("trim"))), nil
	case "TrimSuffix":
		return fmt.Sprintf("(%[1]s.endsWith(%[2]s) ? %[1]s.substring(0, size(%[1]s) - size(%[2]s)) : %[1]s)", value,
			quoted(argument("trim"))), nil
	case "Regexp":
		return extracted(value, n.At("regexp"), n)
	case "Join":
		return value + ".map(e, string(e)).join(" + quoted(n.At("join", "separator").Literal().Value) + ")", nil
	case "Replace":
		return fmt.Sprintf("%s.replace(%s, %s)", value, quoted(n.At("replace", "search").Literal().Value),
			quoted(n.At("replace", "replace").Literal().Value)), nil
	case "Convert":
		function := map[string]string{
			"ToUpper": "%s.upperAscii()", "ToLower": "%s.lowerAscii()", "ToJson": "json.marshal(%s)",
			"ToSha256": "hash.sha256(%s)",
			"ToBase64": "base64.encode(bytes(%s))", "FromBase64": "string(base64.decode(%s))",
		}[argument("convert")]
		if function == "" {
			return "", lost(n, "write it as an expression", "the conversion %s has no counterpart", argument("convert"))
		}
		return fmt.Sprintf(function, value), nil
	default:
		return "", lost(n, "write it as an expression", "the transform of text %s has no counterpart", of)
	}
}

func extracted(value string, n, at *source.Node) (string, error) {
	if n == nil {
		return "", lost(at, "write match", "the transform has no regexp")
	}
	pattern := n.At("match").Literal().Value
	re, err := regexp.Compile(pattern)
	group := int64(0)
	if g := n.At("group"); g != nil {
		group, _ = g.Value.(int64)
	}
	switch {
	case err != nil:
		return "", lost(n, "correct it", "the regular expression is invalid: %v", err)
	case group == 0:
		return value + ".find(" + quoted(pattern) + ")", nil
	case group == 1 && re.NumSubexp() == 1:
		return "regex.extract(" + value + ", " + quoted(pattern) + ").orValue(\"\")", nil
	}
	return "", lost(n, "make the other groups (?:...)", "group %d of several groups has no counterpart", group)
}

var verb = regexp.MustCompile(`%[-+# 0]*\d*(\.\d+)?[a-zA-Z%]`)

// formatted returns a format of Go with its arguments.
func formatted(n *source.Node, args []string) (string, error) {
	if n == nil || n.Kind != source.Text {
		return "", errors.New("the format is missing")
	}
	text := n.Literal().Value
	var wrong error
	text = verb.ReplaceAllStringFunc(text, func(v string) string {
		switch {
		case v == "%%", v == "%s", v == "%d", strings.HasSuffix(v, "f") && !strings.ContainsAny(v, "+-# "), v == "%x",
			v == "%X":
			return v
		case v == "%v", v == "%t":
			return "%s"
		}
		wrong = lost(n, "write it as an expression", "the verb %s of the format has no counterpart", v)
		return v
	})
	return quoted(text) + ".format([" + strings.Join(args, ", ") + "])", wrong
}

// converted changes the type of a value.
func converted(value string, n *source.Node) (string, error) {
	to, format := n.At("toType").Literal().Value, n.At("format").Literal().Value
	switch {
	case format == "json":
		return "json.unmarshal(" + value + ")", nil
	case format == "quantity":
		return "quantity(" + value + ").asApproximateFloat()", nil
	case format != "" && format != "none":
		return "", lost(n, "write it as an expression", "the format %s has no counterpart", format)
	}
	function := map[string]string{"string": "string", "int": "int", "int64": "int", "float64": "double",
		"bool": "bool"}[to]
	if function == "" {
		return "", lost(n, "write it as an expression", "the type %s has no counterpart", to)
	}
	return function + "(" + value + ")", nil
}
