// Package plan summarizes what happens when rules replace those that run.
//
// It makes no decisions, as package change does not: it is the engine over a client that
// writes nothing. What differs is the question and the answer. engine.Preview follows
// the running rules first and then reloads, so that plan sees exactly the primaries that
// a reload reconciles, and what the running rules do anyway is not counted. The answer
// groups equal changes.
//
// # Memory
//
// A cluster may have 10,000 primaries. plan lists objects page by page and keeps what the
// caches of the engine keep. Whole objects live as long as the primary that they belong
// to is compared. Of each change, a report keeps the name of the object and adds the rest
// to its group.
//
// # What runs
//
// The inventory has a digest of each running rule, and the text of the rules unless it is too
// long. Without it, the rules are compared with the live state.
package plan
