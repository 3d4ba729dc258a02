// Package ruletest runs tests of rules: files with objects, actions and
// expectations.
//
//	file, err := ruletest.Parse(source)
//	suite, err := file.Prepare(setting)
//	results := ruletest.Run(ctx, []*ruletest.Suite{suite}, options)
//
// A file has cases. Each case runs in its own Place, a cluster with a running
// controller, so that cases can run in parallel. A case has given objects and
// steps. A step runs each Action, waits until the controller has nothing left to
// do, and checks each Expectation. A case ends at the first step that fails, with
// all failures of that step.
//
// # Built-in checks
//
// The following is checked in every case:
//
//   - The controller settles after each step.
//   - Each requested failure happens.
//   - A restart of the controller, some time after the last step, writes nothing.
//   - After the primaries are deleted, none of their children stay. Children that
//     the teardown waits for are marked ready, or the time advances.
//
// # Places
//
// Place has the methods that every case needs. Memory has the additional ones of a
// cluster in memory: simulated time, failures and counted writes. A case that uses
// them runs only in a Memory. All other cases run in any Place.
package ruletest
