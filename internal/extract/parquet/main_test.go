package parquet_test

import (
	"testing"

	"go.uber.org/goleak"

	_ "parley/internal/extract/formats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
