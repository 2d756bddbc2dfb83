package main

// leastConnections is the minimum number of connections. A server for many concurrent answers takes
// twice their number, so that clients over the limit get an answer that says so.
const leastConnections = 4096

// filesBeside is how many open files are reserved for databases, originals, child processes and
// tools. Each turn may also need a connection to a model.
const filesBeside = 256

// fewestConnections are taken even if the limit of open files may not suffice.
const fewestConnections = 32

// connections returns how many connections a server takes. scarce says that the limit of open files
// reduced them. files is that limit; 0 means none.
func (c *Config) connections(files uint64) (n int, scarce bool) {
	want := max(leastConnections, 2*c.LimitsMaxConcurrent)
	if files == 0 || files > uint64(want+c.LimitsMaxConcurrent+filesBeside) {
		return want, false
	}
	return max(int(files)-c.LimitsMaxConcurrent-filesBeside, int(files)/4, fewestConnections), true
}

// placesFor is connections for this process; it logs a warning if they are scarce.
func (s *serving) placesFor() int {
	files := openFiles()
	n, scarce := s.cfg.connections(files)
	if scarce {
		s.log.Warn("the limit on open files allows only few connections; raise it (ulimit -n, or LimitNOFILE of systemd)",
			"files", files, "connections", n)
	}
	return n
}
