package expr

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	// Expressions longer than this are a mistake, or an attack on the parser.
	maxExpression = 4096
	// One call of lists.range allocates its result before any budget sees it.
	maxRange = 500
)

// An environment is what all expressions share: the functions of the language,
// and the implementations of those that are guarded.
type environment struct {
	env       *cel.Env
	overloads map[string]*functions.Overload // of guarded functions, by overload id and by function name
}

// base is built once in a process. Building takes milliseconds, extending it
// by the names of a rule takes microseconds.
var base = sync.OnceValues(newEnvironment)

func newEnvironment() (*environment, error) {
	env, err := cel.NewEnv(
		cel.EagerlyValidateDeclarations(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.CrossTypeNumericComparisons(true),
		// Without it timestamps would print in the local zone of the machine.
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.OptionalTypes(),
		library.Quantity(), library.URLs(), library.Regex(), library.IP(), library.CIDR(),
		library.SemverLib(library.SemverVersion(1)), library.Format(), library.Lists(),
		ext.Strings(ext.StringsMaxPrecision(100)),
		ext.Math(), ext.Sets(), ext.Encoders(ext.EncodersVersion(0)), ext.Bindings(), ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsMaxRangeSize(maxRange)),
		cel.Lib(functionLibrary{}),
	)
	if err != nil {
		return nil, err
	}
	e := &environment{env: env, overloads: map[string]*functions.Overload{}}
	for name := range limits {
		declared := env.Functions()[name]
		if declared == nil {
			continue // An operator that is none of the environment's.
		}
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

// This error is one value in the whole process, on which CEL notes the place
// of whichever expression meets it first, from any goroutine. A place noted
// before anything runs ends the race, and is no place in any expression.
func init() { types.LabelErrNode(-1, types.NoSuchOverloadErr()) }
