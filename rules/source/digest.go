package source

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A Digest identifies what a value means: its data without positions, comments and
// the style in which they are written.
type Digest [sha256.Size]byte

// Digest returns the digest of the value, and of a map without some of its keys.
func (v Value) Digest(without ...string) (d Digest) {
	rest := *v.node
	if v.IsMap() {
		rest.Content = nil
	}
	for k, n := range pairsOf(v.node) {
		if !slices.Contains(without, k.Value) {
			rest.Content = append(rest.Content, k, n)
		}
	}
	h := sha256.New()
	digest(h, &rest)
	h.Sum(d[:0])
	return d
}

// Digest returns the digest of an entry of a map.
func (e Entry) Digest() (d Digest) {
	h := sha256.New()
	digest(h, e.Value.node)
	h.Write([]byte(e.Key.Value))
	h.Sum(d[:0])
	return d
}

// And returns the digest of a value that means something else when others do.
func (d Digest) And(others ...Digest) (all Digest) {
	if len(others) == 0 {
		return d
	}
	h := sha256.New()
	h.Write(d[:])
	for _, other := range others {
		h.Write(other[:])
	}
	h.Sum(all[:0])
	return all
}

// digest writes a node, and the length of each part of it: no two values that mean
// something else have the same bytes.
func digest(h hash.Hash, n *yaml.Node) {
	var length [8]byte
	write := func(text string) {
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	write(n.ShortTag())
	write(n.Value)
	binary.LittleEndian.PutUint64(length[:], uint64(len(n.Content)))
	h.Write(length[:])
	for _, item := range n.Content {
		digest(h, item)
	}
}
