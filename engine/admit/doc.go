// Package admit decides which changed rules may write: it counts what they would delete, searches
// for objects of other installations, and continues rollouts.
package admit
