package engine

import "reconcel/engine/discover"

// Kind is a shorthand for discover.Kind.
type Kind = discover.Kind
