//go:build !linux

package main

import "syscall"

// childAttributes leave the supervisor's death to the janitor: only Linux can
// have the kernel kill a child with its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
