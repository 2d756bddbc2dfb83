package retrieval

import "errors"

// ErrNotFound says that a document does not exist or may not be seen; callers cannot tell which.
var ErrNotFound = errors.New("not found")

// ErrConflict says that a batch replaces segments that are gone: another process was faster.
// Nothing was written; take a new Snapshot and try again.
var ErrConflict = errors.New("conflict")

// ErrDamaged says that stored bytes are not whole any more.
var ErrDamaged = errors.New("damaged")

// ErrIncomplete says that a generation cannot serve yet: some chunk has no vector in it.
var ErrIncomplete = errors.New("some chunks have no vector yet")
