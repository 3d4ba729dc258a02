//go:build !linux

package main

import "syscall"

// childAttributes do not kill a component with its supervisor, because only Linux
// can do so. The janitor does it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
