package schema

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// These are the limits of the API server for the estimated cost of one rule and of all.
const (
	ruleCostLimit  = 10_000_000
	totalCostLimit = 100_000_000
)

// unlimited is how often there may be a value inside of a list or map without a limit.
const unlimited = math.MaxUint64

// A ruleCheck compiles the rules of a structural schema, and estimates what they cost at most.
type ruleCheck struct {
	errs      field.ErrorList
	total     uint64
	expensive []ruleCost
}

type ruleCost struct {
	at   *field.Path
	cost uint64
}

func (c *ruleCheck) root(at *field.Path, s *structuralschema.Structural) {
	c.visit(at, s, true, 1, nil)
	if c.total <= totalCostLimit {
		return
	}
	slices.SortStableFunc(c.expensive, func(a, b ruleCost) int { return cmp.Compare(b.cost, a.cost) })
	for _, e := range c.expensive[:min(len(c.expensive), 4)] {
		c.errs = append(c.errs, field.Forbidden(e.at,
			"contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	c.errs = append(c.errs, field.Forbidden(at, tooExpensive(
		"x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.total, totalCostLimit)))
}

// visit checks a schema and those in it, of which an object has as many values. Inside of uncorrelated, it is unknown
// which old value a value replaces.
func (c *ruleCheck) visit(at *field.Path, s *structuralschema.Structural, isRoot bool, times uint64,
	uncorrelated *field.Path) {
	c.rules(at, s, isRoot || s.XEmbeddedResource, times, uncorrelated)
	of := uncorrelated
	if of == nil && !cel.MapIsCorrelatable(s.XMapType) {
		of = at
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		c.visit(at.Child("properties").Key(name), &p, false, times, of)
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		var limit *int64
		if s.ValueValidation != nil {
			limit = s.ValueValidation.MaxProperties
		}
		c.visit(at.Child("additionalProperties"), more.Structural, false, timesMore(times, limit), uncorrelated)
	}
	if s.Items == nil {
		return
	}
	if of = uncorrelated; of == nil && (s.XListType == nil || *s.XListType != "map") {
		of = at
	}
	var limit *int64
	if s.ValueValidation != nil {
		limit = s.ValueValidation.MaxItems
	}
	c.visit(at.Child("items"), s.Items, false, timesMore(times, limit), of)
}

// timesMore multiplies a number of values by the limit of a list or map.
func timesMore(times uint64, limit *int64) uint64 {
	if limit == nil {
		return unlimited
	}
	return product(times, uint64(max(*limit, 0)))
}

// product multiplies, and is unlimited if the result is too large.
func product(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return unlimited
	}
	return low
}

// rules checks the rules of one schema.
func (c *ruleCheck) rules(at *field.Path, s *structuralschema.Structural, isResource bool, times uint64,
	uncorrelated *field.Path) {
	before := len(c.errs)
	for i, rule := range s.XValidations {
		c.texts(at.Child("x-kubernetes-validations").Index(i), ruleOf(rule), s)
	}
	if len(s.XValidations) == 0 || len(c.errs) > before {
		return
	}
	compiled, err := cel.Compile(s, model.SchemaDeclType(s, isResource), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	if err != nil {
		c.errs = append(c.errs, field.InternalError(at.Child("x-kubernetes-validations"), err))
		return
	}
	for i, r := range compiled {
		rule, from := ruleOf(s.XValidations[i]), at.Child("x-kubernetes-validations").Index(i)
		often := times
		if often == unlimited {
			often = r.MaxCardinality
		}
		c.observe(from.Child("rule"), "estimated rule cost", product(r.MaxCost, often))
		switch {
		case r.Error == nil:
		case r.Error.Type == apiservercel.ErrorTypeRequired:
			c.errs = append(c.errs, field.Required(from.Child("rule"), r.Error.Detail))
		default:
			c.errs = append(c.errs, field.Invalid(from.Child("rule"), rule, r.Error.Detail))
		}
		switch {
		case r.MessageExpressionError != nil:
			c.errs = append(c.errs, field.Invalid(from.Child("messageExpression"), rule, r.MessageExpressionError.Detail))
		case r.MessageExpression != nil:
			c.observe(from.Child("messageExpression"), "estimated messageExpression cost", r.MessageExpressionMaxCost)
		}
		switch {
		case r.UsesOldSelf && uncorrelated != nil:
			c.errs = append(c.errs, field.Invalid(from.Child("rule"), rule.Rule, fmt.Sprintf(
				"oldSelf cannot be used on the uncorrelatable portion of the schema within %v", uncorrelated)))
		case !r.UsesOldSelf && rule.OptionalOldSelf != nil:
			c.errs = append(c.errs, field.Invalid(from.Child("optionalOldSelf"), *rule.OptionalOldSelf,
				"may not be set if oldSelf is not used in rule"))
		}
	}
}

// reasons are those that a rule can have.
var reasons = []apiextensions.FieldValueErrorReason{apiextensions.FieldValueDuplicate,
	apiextensions.FieldValueForbidden, apiextensions.FieldValueInvalid, apiextensions.FieldValueRequired}

// texts checks what a rule says besides its expressions.
func (c *ruleCheck) texts(at *field.Path, rule apiextensions.ValidationRule, s *structuralschema.Structural) {
	add := func(errs ...*field.Error) { c.errs = append(c.errs, errs...) }
	lines := func(text string) bool { return strings.ContainsAny(text, "\n\r") }
	message := strings.TrimSpace(rule.Message)
	switch text := strings.TrimSpace(rule.Rule); {
	case text == "":
		add(field.Required(at.Child("rule"), "rule is not specified"))
	case rule.Message != "" && message == "":
		add(field.Invalid(at.Child("message"), rule.Message, "must be non-empty if specified"))
	case lines(message):
		add(field.Invalid(at.Child("message"), rule.Message, "must not contain line breaks"))
	case lines(text) && message == "":
		add(field.Required(at.Child("message"), "message must be specified if rule contains line breaks"))
	}
	if rule.MessageExpression != "" && strings.TrimSpace(rule.MessageExpression) == "" {
		add(field.Required(at.Child("messageExpression"), "messageExpression must be non-empty if specified"))
	}
	if rule.Reason != nil && !slices.Contains(reasons, *rule.Reason) {
		add(field.NotSupported(at.Child("reason"), *rule.Reason, reasons))
	}
	if rule.FieldPath == "" {
		return
	}
	if _, _, err := cel.ValidFieldPath(rule.FieldPath, s); err != nil {
		add(field.Invalid(at.Child("fieldPath"), rule.FieldPath, "must be a valid path"))
	}
}

// ruleOf returns a rule as errors show it.
func ruleOf(rule apiextensionsv1.ValidationRule) apiextensions.ValidationRule {
	out := apiextensions.ValidationRule{}
	_ = apiextensionsv1.Convert_v1_ValidationRule_To_apiextensions_ValidationRule(&rule, &out, nil) // It has no error.
	return out
}

// observe adds the cost of one expression.
func (c *ruleCheck) observe(at *field.Path, what string, cost uint64) {
	if cost > ruleCostLimit {
		c.errs = append(c.errs, field.Forbidden(at, tooExpensive(what, cost, ruleCostLimit)))
	}
	if c.total += cost; c.total < cost {
		c.total = unlimited
	}
	if cost >= totalCostLimit/100 {
		c.expensive = append(c.expensive, ruleCost{at, cost})
	}
}

func tooExpensive(what string, cost, limit uint64) string {
	factor := float64(cost) / float64(limit)
	text := fmt.Sprintf("%.1fx", factor)
	switch {
	case factor > 100:
		text = "more than 100x"
	case factor < 1.5:
		text = fmt.Sprintf("%fx", factor)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, "+
		"and maxLength where arrays, maps, and strings are declared)", what, text)
}
