// Package cleanup removes what no rule wants any more.
package cleanup
