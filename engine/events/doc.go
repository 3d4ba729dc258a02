// Package events writes Events to the API server in the background. They may be
// lost; nothing depends on them. A Digest combines Normal Events about an object, and
// limits their rate. A Broadcaster sends Events; repeated ones increment the count of the
// first one.
//
// The recorders of client-go do not fit:
//
//   - tools/record sends from one goroutine. While the API server does not answer,
//     one Event holds up all others for up to two minutes. An Event that meets a
//     failing webhook (5xx) is lost at once, and so is what is queued at a
//     shutdown. Of one object it lets 25 Events pass and then one in five minutes,
//     whatever they say.
//   - tools/events starts a goroutine for each Event, which tries for minutes while
//     the API server is away, and keeps 1 KiB for each for twelve minutes: 14 MiB
//     for 15,000 changes of primaries.
//
// Neither counts what it drops, and neither tells a process that stands by, whose
// writes fail by intent, from one that cannot reach the API server. The bounds here
// are those of tools/record: 1,000 Events are queued, more are dropped, and 4,096
// are remembered to be counted.
package events
