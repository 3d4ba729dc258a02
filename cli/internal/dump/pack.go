package dump

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
)

// A packer compresses the texts of one kind. They resemble each other, so the first of them
// is the dictionary: a Deployment takes a few hundred bytes instead of 4 KB.
type packer struct {
	dictionary []byte
	out        bytes.Buffer
	to         *flate.Writer
	readers    sync.Pool // of flate.Resetter
}

// packLevel is the lowest level of flate that uses dictionaries.
const packLevel = 2

// pack returns a text, compressed.
func (p *packer) pack(text []byte) ([]byte, error) {
	p.out.Reset()
	var err error
	if p.to == nil {
		p.dictionary = bytes.Clone(text)
		p.to, err = flate.NewWriterDict(&p.out, packLevel, p.dictionary)
	} else {
		p.to.Reset(&p.out)
	}
	if err != nil {
		return nil, err
	}
	if _, err = p.to.Write(text); err == nil {
		err = p.to.Close()
	}
	return bytes.Clone(p.out.Bytes()), err
}

// unpack returns a text that was packed. It is safe for concurrent use.
func (p *packer) unpack(packed []byte) ([]byte, error) {
	from := bytes.NewReader(packed)
	r, _ := p.readers.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReaderDict(from, p.dictionary)
	} else if err := r.(flate.Resetter).Reset(from, p.dictionary); err != nil {
		return nil, err
	}
	defer p.readers.Put(r)
	return io.ReadAll(r)
}
