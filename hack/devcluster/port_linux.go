package main

// soReusePort is missing from package syscall on most Linux architectures.
const soReusePort = 0xf
