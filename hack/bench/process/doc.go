// Package process runs a controller as a process of its own, and measures what it uses
// from outside. It reads /proc, so it works on Linux only.
package process
