// Package inventory remembers what rules have made, in a ConfigMap with one entry
// for each rule.
//
// A rule may lose its last template of a kind while no process runs, and nothing
// else tells the next process to look for objects of that kind. So an entry is
// written before a rule writes its first object of a kind. The kind is removed
// from the entry when no object of the rule is left.
//
// A rule that is not loaded keeps its entry: its objects stay, and it may come
// back. Only its finalizers are removed, because no rule would do what they stand
// for; the entry says that there may be some before the first is set. With
// onRuleRemoval: delete the objects are deleted too, and then the entry.
//
// Texts of rules are in ConfigMaps of their own, so that a process can compile a rule
// as it ran before, or all rules as they were valid last.
//
// This package alone knows the format of the entries.
package inventory
