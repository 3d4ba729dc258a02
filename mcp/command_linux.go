package main

import (
	"os/exec"
	"syscall"
)

// endWithUs lets a program end when this one is killed.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
