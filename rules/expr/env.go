package expr

import (
	"maps"
	"slices"
	"strings"
	"sync"
	_ "time/tzdata" // Functions of time take names of time zones, and the image has no files of them.

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	// Expressions longer than this are a mistake, or an attack on the parser.
	maxExpression = 4096
	// One call of lists.range allocates its result before the budget counts it. mostRange is the
	// limit for rules with large collections.
	maxRange, mostRange = 500, 5000
)

// An environment is what all expressions share: the functions of the language,
// and the implementations of those that are guarded.
type environment struct {
	env       *cel.Env
	overloads map[string]*functions.Overload // by overload id and function name

	declared   map[string]*decls.FunctionDecl
	functions  []string        // the names of those that expressions can call, sorted
	namespaces map[string]bool // the parts of them before the last dot
}

// base is built once in a process. Building takes milliseconds, and adding the
// variables of a rule microseconds.
var base = sync.OnceValues(newEnvironment)

func newEnvironment() (*environment, error) {
	env, err := cel.NewEnv(
		cel.EagerlyValidateDeclarations(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.CrossTypeNumericComparisons(true),
		// Otherwise timestamps print in the machine's time zone.
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.OptionalTypes(),
		library.Quantity(), library.URLs(), library.Regex(), library.IP(), library.CIDR(),
		library.SemverLib(library.SemverVersion(1)), library.Format(), library.Lists(),
		ext.Strings(ext.StringsMaxPrecision(100)),
		ext.Math(), ext.Sets(), ext.Regex(), ext.Encoders(ext.EncodersVersion(0)), ext.Bindings(), ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsMaxRangeSize(mostRange)),
		cel.Lib(functionLibrary{}),
		words(),
	)
	if err != nil {
		return nil, err
	}
	e := &environment{env: env, declared: env.Functions(), overloads: map[string]*functions.Overload{},
		namespaces: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(e.declared)) {
		if strings.ContainsAny(name, "@_!-") {
			continue
		}
		e.functions = append(e.functions, name)
		if n := namespaceOf(name); n != "" {
			e.namespaces[n] = true
		}
	}
	for _, m := range env.Macros() {
		if !m.IsReceiverStyle() {
			e.functions = append(e.functions, m.Function())
		}
	}
	slices.Sort(e.functions)
	for _, declared := range e.declared {
		overloads, err := declared.Bindings()
		if err != nil {
			return nil, err
		}
		for _, o := range overloads {
			e.overloads[o.Operator] = o
		}
	}
	return e, nil
}

// CEL has a single NoSuchOverloadErr in the process, and records on it the position
// of the first expression that meets it, from any goroutine. Recording a position
// that no expression has, before anything runs, prevents the data race.
func init() { types.LabelErrNode(-1, types.NoSuchOverloadErr()) }
