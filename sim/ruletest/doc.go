// Package ruletest runs tests of rules: files that say which objects there are,
// what happens, and what is to be there then.
//
//	file, err := ruletest.Parse(source)
//	suite, err := file.Prepare(setting)
//	results := ruletest.Run(ctx, []*ruletest.Suite{suite}, options)
//
// A file holds cases. Each is played in a Place of its own, a cluster with a
// controller at work in it, so that cases run side by side. A case has objects
// that are given and steps. In a step something is done (an Action), the place
// comes to rest, and then it is compared with what is expected (an Expectation).
// A case ends at the first step that does not go as expected, with everything
// that is wrong there.
//
// # What is checked without being asked for
//
// Each step comes to rest. Some time after the last one a restart of the
// controller writes nothing. Then the primaries are deleted, and nothing of what the rules made for
// them stays; what has to be waited for on the way is made ready, or its time
// passes. A failure that was asked for has happened.
//
// # Where a case is played
//
// Place is what every case needs. What only a cluster in memory can do (time that
// passes when told to, failures, counted writes) is in Memory: a case that uses it
// can be played only there, and the rest anywhere.
package ruletest
