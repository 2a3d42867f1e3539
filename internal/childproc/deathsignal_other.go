//go:build !linux

package childproc

import (
	"os"
	"os/exec"
)

func setDeathSignal(*exec.Cmd, os.Signal) {}
