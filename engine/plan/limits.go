package plan

import (
	"hash/maphash"
	"time"
)

// WriteTimeout bounds one request. It limits how long a request blocks a worker,
// and how long a write can outlive its process.
const WriteTimeout = 10 * time.Second

// MarkSeed makes hashes of marks comparable within this process.
var MarkSeed = maphash.MakeSeed()

// MostFinished is how many finished replicas are kept for inspection.
const MostFinished = 5
