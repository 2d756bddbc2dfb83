package main

// leastConnections is how many connections a server takes at the least. One that is to answer many
// at a time takes twice as many, so that those who wait hear that they have to.
const leastConnections = 4096

// What of the limit of open files is not for connections: databases, originals, child processes and tools,
// besides one connection to a model for each turn.
const filesBeside = 256

// fewestConnections are taken even if the limit of open files does not promise them.
const fewestConnections = 32

// connections returns how many connections a server takes, and whether that is less than it should be
// because a process may have no more than files open; 0 is no limit.
func (c *Config) connections(files uint64) (n int, scarce bool) {
	want := max(leastConnections, 2*c.LimitsMaxConcurrent)
	if files == 0 || files > uint64(want+c.LimitsMaxConcurrent+filesBeside) {
		return want, false
	}
	return max(int(files)-c.LimitsMaxConcurrent-filesBeside, int(files)/4, fewestConnections), true
}

// placesFor is connections for this process, with a warning.
func (s *serving) placesFor() int {
	files := openFiles()
	n, scarce := s.cfg.connections(files)
	if scarce {
		s.log.Warn("the limit on open files allows only few connections; raise it (ulimit -n, or LimitNOFILE of systemd)",
			"files", files, "connections", n)
	}
	return n
}
