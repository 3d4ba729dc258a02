package credential

import (
	"crypto/rand"
	"math/big"

	"reconcel/rules/generate"
)

// text returns a random text.
func text(s generate.Spec) ([]byte, error) {
	from := s.Charset.Characters()
	out := make([]byte, s.Length)
	for i := range out {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err != nil {
			return nil, err
		}
		out[i] = from[n.Int64()]
	}
	return out, nil
}
