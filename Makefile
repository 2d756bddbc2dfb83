# Every target is one line; what a target does stands in the script or command it calls.
.PHONY: build test race bench lint crash fuzz sequences tables sbom release ci

build: ; CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o parley ./cmd/parley
test: ; go test ./...
race: ; go test -race -shuffle=on ./...
bench: ; go run ./test/bench
lint: ; .ci/lint
crash: ; PARLEY_CRASH_ROUNDS=$(or $(ROUNDS),200) PARLEY_DAMAGE_PLACES=$(or $(PLACES),1000) PARLEY_STREAMS=$(or $(STREAMS),200) go test ./cmd/parley ./internal/store -run 'KilledAtAnyMoment|WasSynced|NeverAnswersFromDamage|Replicas_|WhileConnectionsAreCut' -v -timeout 30m
fuzz: ; .ci/fuzz $(or $(TIME),10m)
sequences: ; GOGC=800 PARLEY_SEQUENCES=$(or $(SEQUENCES),10000000) go test -p 1 ./internal/chat ./test/hardening -run 'Answers_OfRandomPieces|RowS16' -v -timeout 0
sbom: build ; go run ./test/sbom parley web/package-lock.json > parley.cdx.json
release: ; .ci/release dist
tables: ; go test ./cmd/parley -run TestConfigTable -update
ci: ; .ci/run
