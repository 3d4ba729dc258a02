package generate

// A Charset is the name of the characters of a random text.
type Charset string

// The charsets.
const (
	Alphanumeric Charset = "alphanumeric"
	Hex          Charset = "hex"
	Digits       Charset = "digits"
	Symbols      Charset = "symbols"
)

// Charsets returns the names of all charsets.
func Charsets() []Charset { return []Charset{Alphanumeric, Hex, Digits, Symbols} }

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Characters returns the characters of a charset. Symbols are those that shells, URLs,
// YAML and connection strings take without quotes or escapes.
func (c Charset) Characters() string {
	return map[Charset]string{
		Alphanumeric: upper + lower + digits,
		Hex:          digits + "abcdef",
		Digits:       digits,
		Symbols:      upper + lower + digits + "-_.~",
	}[c]
}
