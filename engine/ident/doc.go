// Package ident names primaries and kinds.
package ident
