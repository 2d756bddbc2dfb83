package main

import (
	"context"
	"fmt"

	"parley/internal/store"
)

// checkVectorIndex says whether pgvector searches vectors that do not fit into memory. It is about PostgreSQL only.
func checkVectorIndex(ctx context.Context, p *program) []finding {
	if p.config.Database == "" || p.config.Embedding == "" {
		return nil
	}
	db, done, failed := openStored(ctx, p)
	if failed != nil {
		return found(skipped, "", "the database cannot be opened")
	}
	defer done()
	s, err := db.VectorState(ctx)
	if err != nil {
		return found(broken, "", "%v", err)
	}
	all, _, err := db.Corpus().Generations(ctx)
	if err != nil {
		return found(broken, "", "%v", err)
	}
	length := 0
	for _, g := range all {
		length = max(length, g.Length)
	}
	return judgeVectorIndex(s, int64(s.Largest)*int64(length)*4, p.config.indexMemory())
}

// judgeVectorIndex says what the state of pgvector means for a largest namespace whose vectors take this many bytes.
func judgeVectorIndex(s store.VectorState, largest, memory int64) []finding {
	const create = "have an administrator run CREATE EXTENSION vector in the database, and let Parley's user create schemas (GRANT CREATE ON DATABASE)"
	if memory == 0 { // not Linux, and index.memory is not set
		return found(fine, "", "vectors are searched in memory, whatever they take")
	}
	fits := largest <= memory/2
	why, remedy := "", ""
	switch {
	case s.Installed == "" && s.Available == "":
		why, remedy = "the PostgreSQL server has no pgvector", "install pgvector 0.8 or later on the PostgreSQL server (Debian: postgresql-NN-pgvector), or raise index.memory"
	case !s.Suffices && s.Installed != "":
		why, remedy = "the database has pgvector "+s.Installed+", and 0.8 or later is needed", "install a later pgvector on the PostgreSQL server and run ALTER EXTENSION vector UPDATE"
		if s.Available != s.Installed && s.Available != "" {
			remedy = "run ALTER EXTENSION vector UPDATE (the server has " + s.Available + ")"
		}
	case !s.Suffices:
		why, remedy = "the PostgreSQL server has pgvector "+s.Available+", and 0.8 or later is needed", "install a later pgvector on the PostgreSQL server"
	case !s.MayCreate && s.Ready == 0:
		why, remedy = "Parley's user may not create what pgvector needs", create
	}
	size := fmt.Sprintf("the vectors of the largest namespace take %s of %s", mebibytes(largest), mebibytes(memory/2))
	switch {
	case why != "" && fits:
		return found(fine, "", "vectors are searched in memory, where they fit (%s); beyond that pgvector would be needed, but %s", size, why)
	case why != "":
		return found(warned, remedy, "vectors are searched in memory although they are too many (%s): %s", size, why)
	case fits && s.Ready == 0:
		return found(fine, "", "vectors are searched in memory, where they fit (%s); pgvector %s would take over beyond that", size, versionOf(s))
	case s.Ready == 0:
		return found(warned, "let a server run until the index is built; its log says why if it fails", "the vectors are too many for memory (%s), and pgvector %s has no index of them yet (%d being built)", size, versionOf(s), s.Building)
	}
	return found(fine, "", "pgvector %s searches the vectors of %s", versionOf(s), plural(s.Ready, "namespace"))
}

func versionOf(s store.VectorState) string {
	if s.Installed != "" {
		return s.Installed
	}
	return s.Available
}
