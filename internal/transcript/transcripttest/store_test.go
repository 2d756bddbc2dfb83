package transcripttest_test

import (
	"testing"

	"parley/internal/store/storetest"
	"parley/internal/transcript"
	"parley/internal/transcript/transcripttest"
)

func TestStore_Conforms(t *testing.T) {
	storetest.Transcripts(t, func(*testing.T) transcript.Store { return &transcripttest.Store{} })
}
