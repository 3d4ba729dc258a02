//go:build !linux

package main

import "syscall"

const soReusePort = syscall.SO_REUSEPORT
