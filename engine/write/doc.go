// Package write is the only code that writes children, patches and deletions to a cluster. Before
// each write it decides from the live object and the rendering whether one is needed.
package write
