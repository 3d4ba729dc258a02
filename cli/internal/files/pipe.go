//go:build !js

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"reconcel/internal/disk"
)

// How long to wait for a named pipe: for a program that writes to it, and for the next
// bytes. A pipe without a writer would block forever.
var (
	writerWait = 10 * time.Second
	bytesWait  = time.Minute
)

var errNoWriter = errors.New("no program writes to this pipe")

// open opens a file. A read from a named pipe fails if nothing comes.
func open(path string) (*os.File, error) {
	info, err := disk.Stat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return disk.Open(path)
	}
	// Opening a pipe blocks until another program opens it for writing. After some time,
	// that is this process.
	timeout := time.AfterFunc(writerWait, func() {
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = w.Close()
		}
	})
	f, err := disk.Open(path)
	switch {
	case err != nil:
		timeout.Stop()
		return nil, err
	case !timeout.Stop():
		_ = f.Close()
		return nil, errNoWriter
	}
	if err := f.SetReadDeadline(time.Now().Add(bytesWait)); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
