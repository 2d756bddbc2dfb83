package store

import (
	"context"

	"parley/internal/retrieval"
)

// VectorState says whether pgvector can search the vectors of a PostgreSQL database, and whether it does.
type VectorState struct {
	Installed string // the version in the database; "" for none
	Available string // the version that the server has; "" for none
	Suffices  bool   // the installed version, or without one the available version, is new enough
	MayCreate bool   // the user may create what is missing: the extension, and the schema of the tables
	Largest   int    // chunks of the largest namespace
	Ready     int    // indexes that searches may use
	Building  int    // indexes that are not ready
}

// VectorState returns the state of pgvector in a PostgreSQL database. It changes nothing.
func (d *DB) VectorState(ctx context.Context) (s VectorState, err error) {
	db := d.corpus.db
	var extension, schema bool
	err = db.read.QueryRowContext(ctx, `SELECT
		COALESCE((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
		COALESCE((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), ''),
		(SELECT rolsuper FROM pg_roles WHERE rolname = current_user) OR has_database_privilege(current_database(), 'CREATE') AND
			EXISTS (SELECT 1 FROM pg_available_extension_versions WHERE name = 'vector' AND (trusted OR NOT superuser)),
		COALESCE((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = '`+vectorSchema+`'), has_database_privilege(current_database(), 'CREATE')),
		COALESCE((SELECT MAX(n) FROM (SELECT SUM(chunks)::BIGINT AS n FROM segments WHERE namespace < ? GROUP BY namespace) AS sizes), 0)`,
		retrieval.EndOfNames).Scan(&s.Installed, &s.Available, &extension, &schema, &s.Largest)
	if err != nil {
		return s, db.fail("look at pgvector", err)
	}
	version := s.Installed
	if version == "" {
		version = s.Available
	}
	s.Suffices = sufficesVector(version)
	s.MayCreate = schema && (extension || s.Installed != "")
	err = db.read.QueryRowContext(ctx, "SELECT COUNT(*) FILTER (WHERE ready), COUNT(*) FILTER (WHERE NOT ready) FROM "+vectorSchema+".indexes").Scan(&s.Ready, &s.Building)
	if hasCode(err, codeNoTable, codeNoSchema) {
		err = nil
	}
	return s, db.fail("look at the indexes of vectors", err)
}
