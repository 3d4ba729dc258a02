package main

import "syscall"

// childAttributes make the kernel kill a component when the supervisor ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
