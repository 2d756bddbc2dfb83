//go:build !amd64 && !arm64

package encoder

func newKernels() kernels { return plain }

func supported() []kernels { return []kernels{plain} }
