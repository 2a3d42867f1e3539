package childproc

import (
	"os"
	"os/exec"
	"syscall"
)

func setDeathSignal(cmd *exec.Cmd, sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		sysProcAttr(cmd).Pdeathsig = s
	}
}
