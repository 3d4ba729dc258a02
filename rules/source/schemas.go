package source

// Schemas of values with the same meaning in all files.
var (
	FilledText = &Schema{Type: Types{"string"}, MinLength: 1}
	Boolean    = &Schema{Type: Types{"boolean"}}
	AnyMap     = &Schema{Type: Types{"object"}}
	AnyList    = &Schema{Type: Types{"array"}}
	OnlyNull   = &Schema{Type: Types{"null"}} // or nothing after the key

	// DurationText is a duration in Go's notation. Every pattern must have the same
	// meaning in Go and in JavaScript, which editors use.
	DurationText = &Schema{
		Type:     Types{"string"},
		Pattern:  `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`,
		Expected: "Expected a duration like 90s, 10m or 1h30m.",
	}
)

// WholeNumber is a whole number with a minimum.
func WholeNumber(least int) *Schema { return &Schema{Type: Types{"integer"}, Minimum: &least} }

// OneOf is one of a few strings.
func OneOf(texts ...string) *Schema { return &Schema{Type: Types{"string"}, Enum: texts} }

// EntriesOf is a map with any keys, and values of one schema.
func EntriesOf(s *Schema) *Schema { return &Schema{Type: Types{"object"}, Others: s} }

// ListOf is a list of values of one schema.
func ListOf(item *Schema) *Schema { return &Schema{Type: Types{"array"}, Items: item} }

// EitherOf is a value of one of several schemas. Their shapes must differ.
func EitherOf(schemas ...*Schema) *Schema { return &Schema{AnyOf: schemas} }

// OneOrMany is one value or a list of values.
func OneOrMany(s *Schema) *Schema { return EitherOf(s, ListOf(s)) }

// A Choice is one of the allowed strings of a key.
type Choice struct {
	Text string
	Doc  string
}

// Choices are all allowed strings of a key.
type Choices []Choice

func (cs Choices) texts() []string {
	var texts []string
	for _, c := range cs {
		texts = append(texts, c.Text)
	}
	return texts
}

// Schema returns the schema of a choice.
func (cs Choices) Schema() *Schema {
	s := OneOf(cs.texts()...)
	for _, c := range cs {
		s.EnumDocs = append(s.EnumDocs, plainDoc(c.Doc))
	}
	return s
}
