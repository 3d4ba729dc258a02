// Package recording writes down everything that an engine depends on, and replays it to the same
// decisions.
//
//	r := recording.NewWriter(file)
//	stepper := r.Start(dependencies, options)
//	r.Follow(sources, snapshot) // before each call of stepper.Follow, and so on
//	...
//	r.End()
//	result, err := recording.Replay(ctx, file, recording.Options{})
//
// A recording is a file of JSON lines. Each line is a step of a Stepper (start, follow, event, serve,
// clean up) with its time, or a call that the engine made in the step before, with the answer. A Stepper does
// nothing in between and nothing at the same time, so the steps determine what it does: the
// state of its caches, its queue and its memory are those of the recording in each step.
//
// Replay runs a Stepper through the same steps. It answers each call as the recording does, and compares
// every write byte for byte. Calls of one step may come in another order, because caches have none. The values of
// Secrets are not compared: they may be random.
package recording
