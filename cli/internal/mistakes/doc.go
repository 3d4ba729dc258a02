// Package mistakes has no code besides its tests. They measure what validate finds of
// the single mistakes that people make, and that it finds nothing in sound rules.
//
// The sound rules are the examples, and ten applications in testdata/apps
// (sound_test.go). Operators (operators_test.go) put a mistake of their class into them,
// at places that are chosen at random with a fixed seed (generate_test.go). The result is
// testdata/mistakes.jsonl; "go test -update" writes it again. Each line is a mutant:
// its class, its place, and
//
//   - sound: why the mutant is no mistake, although its class makes mistakes. Somebody
//     has judged that. The tests want no finding.
//   - missed: validate does not find the mistake yet
//   - astray: no message is on the lines of the mistake
//
// TestMistakes fails if a check gets worse. TestSpellings writes the sound rules in other
// ways, such as JSON.
package mistakes
