package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Workers get their files as descriptors. Once a worker has loaded the parser of its first file it needs no other
// files, and Landlock (landlock(7)) takes the rest of the file system from it. A parser that a file has taken over can
// then read only that file, and write only the files inside it.

// Confinement describes how this kernel keeps workers from the files and the network of the machine. ok is false when
// it does not keep them from files.
func Confinement() (what string, ok bool) {
	version, err := ll.LandlockGetABIVersion()
	switch {
	case err != nil || version < 1:
		return "the kernel has no Landlock", false
	case version < 4:
		return fmt.Sprintf("Landlock %d keeps files, but no connections, from them", version), true
	}
	return fmt.Sprintf("Landlock %d", version), true
}

// shutIn permanently takes TCP and all files from the process, except the folder spools, which may be "", the compiled
// code in cache, which it may only read, and the kernel's figures about its own threads. Restrictions that the kernel
// does not know are left out.
func shutIn(cache, spools string) error {
	rules := []landlock.Rule{landlock.RODirs(fmt.Sprintf("/proc/%d/task", os.Getpid()))}
	if cache != "" {
		rules = append(rules, landlock.RODirs(cache).IgnoreIfMissing())
	}
	if spools != "" {
		rules = append(rules, landlock.RWDirs(spools).IgnoreIfMissing())
	}
	return landlock.V11.BestEffort().Restrict(rules...)
}

// libraries are the folders in which systems keep programs and what these need to run.
var libraries = []string{"/usr", "/lib", "/lib32", "/lib64", "/bin", "/opt", "/nix/store", "/gnu/store"}

// shutInProgram permanently takes TCP and all files from the process, except some folders and the files that programs
// need to run, all of which it may only read.
func shutInProgram(reads []string) error {
	return landlock.V11.BestEffort().Restrict(
		landlock.RODirs(libraries...).IgnoreIfMissing(),
		landlock.RODirs(reads...).IgnoreIfMissing(),
		landlock.ROFiles("/etc/ld.so.cache", "/dev/null").IgnoreIfMissing(),
	)
}

// isolated reports whether the kernel lets workers have their own empty network. The first call tries it.
var isolated = sync.OnceValue(func() bool {
	executable, err := workerExecutable()
	if err != nil {
		return false
	}
	process, err := os.StartProcess(executable, []string{"parley", "extract-worker"}, &os.ProcAttr{
		Env: []string{workerVariable + "=1"}, Files: []*os.File{nil, nil, nil}, Sys: ownNetwork(),
	})
	if err != nil {
		return false
	}
	state, err := process.Wait() // its input is at its end
	return err == nil && state.Success()
})

// ownNetwork are the attributes of a process with its own network. That needs the rights of root, or a user namespace
// in which the user keeps its identity.
func ownNetwork() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWNET}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return a
}

// spoolsOf returns the parent of a job's folder for files inside files, or "" if the job has none.
func spoolsOf(j job) string {
	if j.Spool == "" {
		return ""
	}
	return filepath.Dir(j.Spool)
}

// handoverFD is the worker's end of the socket over which it gets its files.
const handoverFD = 3

// newHandover returns the two ends of such a socket.
func newHandover() (ours, theirs *os.File, err error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket: %w", err)
	}
	return os.NewFile(uintptr(ends[0]), "handover"), os.NewFile(uintptr(ends[1]), "handover"), nil
}

// handOver opens a file and sends it to the worker at the other end.
func handOver(to *os.File, path string) error {
	f, err := openDocument(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Sendmsg(int(to.Fd()), []byte{0}, syscall.UnixRights(int(f.Fd())), nil, 0); err != nil {
		return &unasked{err}
	}
	return nil
}

// takeOver receives the file that was handed over for a job.
func takeOver() (*os.File, error) {
	var b [1]byte
	rights := make([]byte, syscall.CmsgSpace(4))
	n, got, _, _, err := syscall.Recvmsg(handoverFD, b[:], rights, syscall.MSG_CMSG_CLOEXEC)
	if err != nil || n != 1 {
		return nil, fmt.Errorf("receive a file: %d bytes: %w", n, err)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:got])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("receive a file: %d messages: %w", len(messages), err)
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("receive a file: %d descriptors: %w", len(files), err)
	}
	return os.NewFile(uintptr(files[0]), "document"), nil
}
