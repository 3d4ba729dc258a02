package syntax

import "reconcel/rules/source"

var checkShape = source.Shape{
	Doc: "A check of the primary.",
	Keys: []source.Key{
		{Name: "expression", Required: true, Value: boolExpr, Doc: "What must be true, like `self.spec.size > 0`."},
		{Name: "message", Value: textData, Doc: "The message if it is false, with `${...}` for values. By default the " +
			"expression itself."},
	},
	Wrong: map[string]source.WrongKey{
		"expr": {Means: "expression"},
		"rule": {Means: "expression"},
		"cel":  {Means: "expression"},
		"msg":  {Means: "message"},
	},
}

func readValidate(v source.Value) []*Check {
	var checks []*Check
	for _, item := range v.Items() {
		item = item.Named("")
		t := item.Table(&checkShape)
		checks = append(checks, &Check{
			Pos:        item.Pos(),
			Entry:      item.Entry(),
			Expression: t.Key("expression").Expr(),
			Message:    t.Key("message").Sentence(),
		})
	}
	return checks
}
