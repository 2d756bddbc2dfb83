//go:build !linux

package pgtest

import (
	"errors"
	"syscall"
)

// unprivileged returns nil: the server runs as the user of this process, who must not be root.
func unprivileged(string) (*syscall.SysProcAttr, error) { return nil, nil }

func (*cluster) kill() error { return errors.ErrUnsupported }
