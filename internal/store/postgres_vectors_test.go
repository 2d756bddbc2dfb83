package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"parley/internal/access"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/store"
	"parley/internal/store/pgtest"
)

// topics is an embedder of so many dimensions: the first word of a text says most of its direction, the whole
// text the rest.
type topics int

func (n topics) ResolveEmbedder(string) (llm.Embedder, string, error) { return n, "topics", nil }

func (n topics) Embed(_ context.Context, req llm.EmbedRequest) (out llm.Embeddings, err error) {
	for _, text := range req.Texts {
		text = text[strings.LastIndex(text, "topic"):]
		topic, _, _ := strings.Cut(text, " ")
		v := make([]float32, n)
		for share, seed := range map[float64]string{1: topic, 0.8: text} {
			hash := fnv.New64a()
			hash.Write([]byte(seed))
			random := rand.New(rand.NewPCG(hash.Sum64(), 1))
			for i := range v {
				v[i] += float32(share * random.NormFloat64())
			}
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out, nil
}

// indexed is a database with pgvector and two corpora over it: one that searches vectors in the database, and
// one that has all of them in memory.
type indexed struct {
	testing.TB
	db        *store.DB
	raw       *sql.DB
	log       bytes.Buffer
	near, all *retrieval.Corpus
}

func newIndexed(t testing.TB, url string, dimensions topics) *indexed {
	t.Helper()
	x := &indexed{TB: t, db: openPostgresAt(t, url)}
	raw, err := sql.Open("pgx", url)
	x.must(err)
	x.raw = raw
	t.Cleanup(func() { raw.Close() })
	x.open(dimensions)
	return x
}

// open opens the corpora as other processes would. Any namespace of more than 32 kB of vectors is for the database.
func (x *indexed) open(dimensions topics) {
	x.Helper()
	index, about, err := x.db.VectorIndex(x.Context())
	x.must(err)
	if index == nil {
		x.Fatalf("no index of vectors: %s", about)
	}
	embedding := retrieval.WithEmbedding(retrieval.Embedding{Embedders: dimensions, Model: fmt.Sprint("fake:", int(dimensions))})
	log := slog.New(slog.NewTextHandler(&x.log, nil))
	x.near, err = retrieval.Open(x.Context(), x.db.Corpus(), log, embedding, retrieval.WithMemory(64<<10), retrieval.WithVectorIndex(index))
	x.must(err)
	x.all, err = retrieval.Open(x.Context(), x.db.Corpus(), nil, embedding)
	x.must(err)
}

func (x *indexed) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// put adds documents of ten chunks each. One of a hundred is for the group few.
func (x *indexed) put(namespace string, first, n int) {
	x.Helper()
	b := retrieval.Batch{Namespace: namespace}
	for i := first; i < first+n; i++ {
		p := retrieval.Put{Document: retrieval.Document{ID: fmt.Sprint(namespace, i), Name: fmt.Sprint(i), Title: fmt.Sprint(i), MediaType: "text/plain", IndexedAt: time.Now()}}
		if i%100 == 7 {
			p.Document.Access = access.List{Groups: []string{"few"}}
		}
		for k := range 10 {
			text := fmt.Sprintf("topic%d about %d of %d", (i*10+k)%97, k, i)
			p.Chunks = append(p.Chunks, retrieval.Chunk{Text: text, Spans: []retrieval.Span{{End: len(text)}}})
		}
		b.Put = append(b.Put, p)
	}
	x.must(x.near.Apply(x.Context(), b))
}

// embed embeds what has no vector, as the leader does, and has both corpora know of it.
func (x *indexed) embed() {
	x.Helper()
	_, err := x.near.Embed(x.Context(), nil)
	x.must(err)
	_, err = x.all.Embed(x.Context(), nil)
	x.must(err)
}

// keys returns what a corpus ranks highest by vectors.
func (x *indexed) keys(c *retrieval.Corpus, who access.Principal, text string, limit int) (keys []retrieval.ChunkKey) {
	x.Helper()
	hits, err := c.Rank(x.Context(), retrieval.Query{Filter: retrieval.Filter{Principal: who, Namespace: "ns"}, Text: text, Mode: retrieval.Vectors, Limit: limit})
	x.must(err)
	for _, h := range hits {
		keys = append(keys, h.Key)
	}
	return keys
}

// recall returns how many of the ten best chunks are found in the database, over some questions.
func (x *indexed) recall(who access.Principal) float64 {
	x.Helper()
	same, of := 0, 0
	for i := range 20 {
		text := fmt.Sprintf("topic%d asked", i*5)
		want := x.keys(x.all, who, text, 10)
		got := x.keys(x.near, who, text, 10)
		for _, key := range want {
			of++
			if slices.Contains(got, key) {
				same++
			}
		}
	}
	if of == 0 {
		x.Fatal("nothing is to be found")
	}
	return float64(same) / float64(of)
}

// tables returns the sizes of the tables of vectors.
func (x *indexed) tables() (sizes []int) {
	x.Helper()
	rows, err := x.raw.QueryContext(x.Context(), "SELECT 'parley_vectors.v' || id FROM parley_vectors.indexes ORDER BY id")
	x.must(err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		x.must(rows.Scan(&name))
		names = append(names, name)
	}
	x.must(rows.Err())
	for _, name := range names {
		var n int
		x.must(x.raw.QueryRowContext(x.Context(), "SELECT COUNT(*) FROM "+name).Scan(&n))
		sizes = append(sizes, n)
	}
	return sizes
}

var fewOnes = access.Principal{Subject: "ann", Groups: []string{"few"}}

func TestVectorIndex_FindsWhatAnExactSearchFinds(t *testing.T) {
	x := newIndexed(t, pgtest.NewWithVectors(t), 48)
	const documents = 300
	x.put("ns", 0, documents)
	x.put("small", 0, 5)
	state, err := x.db.VectorState(t.Context())
	x.must(err)
	if state.Installed != "" || !state.Suffices || !state.MayCreate || state.Largest != documents*10 || state.Ready+state.Building != 0 {
		t.Errorf("before there are vectors: %+v", state)
	}
	x.embed()
	if state, err = x.db.VectorState(t.Context()); err != nil || state.Installed == "" || state.Ready != 1 || state.Building != 0 {
		t.Errorf("with vectors: %+v, %v", state, err)
	}
	if got := x.tables(); !slices.Equal(got, []int{documents * 10}) {
		t.Fatalf("tables of vectors have %v rows, want one with %d", got, documents*10)
	}
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall of all is %v", r)
	}
	if !strings.Contains(x.log.String(), "vectors are searched in the database") { // its index may have left the memory before
		t.Errorf("nothing says that the database searches:\n%s", &x.log)
	}
	if r := x.recall(fewOnes); r < 0.97 {
		t.Errorf("recall for one who sees all is %v", r)
	}
	t.Run("a sample is the same each time", func(t *testing.T) { sampleIsSame(t, x) })
	t.Run("rights apply before the best are chosen", func(t *testing.T) { rightsApplyFirst(t, x) })
	t.Run("both rankings agree", func(t *testing.T) { rankingsAgree(t, x) })
	t.Run("what goes and comes", func(t *testing.T) { goesAndComes(t, x) })
	t.Run("without its table", func(t *testing.T) { withoutTable(t, x) })
	t.Run("another embedder", func(t *testing.T) { anotherEmbedder(t, x) })
}

func sampleIsSame(t *testing.T, x *indexed) {
	index, _, err := x.db.VectorIndex(t.Context())
	x.must(err)
	read := func() (keys []retrieval.ChunkKey) {
		for v, err := range index.SampledVectors(t.Context(), "ns", x.serving(), 0, 1<<40, 4) {
			x.must(err)
			keys = append(keys, v.Key)
		}
		return keys
	}
	first := read()
	if n := len(first); n < 600 || n > 900 || !slices.Equal(first, read()) {
		t.Errorf("a quarter of 3000 vectors is %d, the same again: %v", n, slices.Equal(first, read()))
	}
}

// rightsApplyFirst asks for the hundredth that only a group may see, which a search that filters afterwards would not find.
func rightsApplyFirst(t *testing.T, x *indexed) {
	ctx := t.Context()
	only := retrieval.Filter{Namespace: "ns", Principal: fewOnes, RequireGroup: true}
	for i := range 10 {
		q := retrieval.Query{Filter: only, Text: fmt.Sprintf("topic%d asked", i), Mode: retrieval.Vectors, Limit: 10}
		want, err := x.all.Rank(ctx, q)
		x.must(err)
		got, err := x.near.Rank(ctx, q)
		x.must(err)
		if len(want) < 3 || !slices.EqualFunc(got, want, func(a, b retrieval.Hit) bool { return a.Key == b.Key }) {
			t.Errorf("%s: %v, want %v", q.Text, got, want)
		}
	}
	// The same through HNSW: the filter is inside the scan.
	index, _, err := x.db.VectorIndex(ctx)
	x.must(err)
	generation := x.serving()
	ready, err := index.Ready(ctx, "ns", generation)
	x.must(err)
	if !ready {
		t.Fatal("the index is not ready")
	}
	found, of := 0, 0
	for i := range 10 {
		text := fmt.Sprintf("topic%d asked", i)
		out, _ := topics(48).Embed(ctx, llm.EmbedRequest{Texts: []string{text}})
		near, err := index.Nearest(ctx, retrieval.NearQuery{Filter: only, Generation: generation, Vector: out.Vectors[0], K: 30})
		x.must(err)
		want, err := x.all.Rank(ctx, retrieval.Query{Filter: only, Text: text, Mode: retrieval.Vectors, Limit: 10})
		x.must(err)
		for _, h := range want {
			of++
			if slices.Contains(near.Keys, h.Key) {
				found++
			}
		}
	}
	if found < of*9/10 {
		t.Errorf("%d of %d are found where the filter leaves a hundredth", found, of)
	}
}

// serving returns the generation that serves.
func (x *indexed) serving() int64 {
	x.Helper()
	all, _, err := x.db.Corpus().Generations(x.Context())
	x.must(err)
	i := slices.IndexFunc(all, func(g retrieval.Generation) bool { return g.State == retrieval.Current })
	if i < 0 {
		x.Fatal("no generation serves")
	}
	return all[i].ID
}

func rankingsAgree(t *testing.T, x *indexed) {
	same := 0
	for i := range 20 {
		q := retrieval.Query{Filter: retrieval.Filter{Namespace: "ns"}, Text: fmt.Sprintf("topic%d about %d of %d", i*3, i%10, i*13), Limit: 10}
		want, err := x.all.Search(t.Context(), q)
		x.must(err)
		got, err := x.near.Search(t.Context(), q)
		x.must(err)
		if want.Mode != retrieval.Hybrid || got.Mode != want.Mode {
			t.Fatalf("searched by %s and %s", want.Mode, got.Mode)
		}
		for k, p := range want.Passages {
			if k < len(got.Passages) && got.Passages[k].Chunk.Key == p.Chunk.Key {
				same++
			}
			if k == 0 && *got.Passages[0].Scores.Vector != *p.Scores.Vector {
				t.Errorf("the best one's likeness is %v, want %v", *got.Passages[0].Scores.Vector, *p.Scores.Vector)
			}
		}
	}
	if same < 180 {
		t.Errorf("%d of 200 passages have the same place", same)
	}
}

func goesAndComes(t *testing.T, x *indexed) {
	const text = "topic11 asked"
	gone := x.keys(x.near, access.Principal{}, text, 5)
	documents, err := x.db.Corpus().AllDocuments(t.Context(), "ns", "", 10_000)
	x.must(err)
	b := retrieval.Batch{Namespace: "ns"}
	for _, d := range documents {
		if slices.ContainsFunc(gone, func(k retrieval.ChunkKey) bool { return k.Revision == d.Revision }) {
			b.Delete = append(b.Delete, d.ID)
		}
	}
	x.must(x.near.Apply(t.Context(), b))
	for _, key := range x.keys(x.near, access.Principal{}, text, 50) {
		if slices.Contains(gone, key) {
			t.Errorf("%v is found although it was deleted", key)
		}
	}
	x.put("ns", 2000, 30)
	x.embed()
	if want := (300 + 30 - len(b.Delete)) * 10; x.tables()[0] != want {
		t.Errorf("the table has %v rows, want %d", x.tables(), want)
	}
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall after changes is %v", r)
	}
	x.open(48)
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall of a process that has just started is %v", r)
	}
}

// withoutTable drops the tables, as an administrator may do. Searches go on by words, and the next pass makes them again.
func withoutTable(t *testing.T, x *indexed) {
	_, err := x.raw.ExecContext(t.Context(), "DROP SCHEMA parley_vectors CASCADE")
	x.must(err)
	res, err := x.near.Search(t.Context(), retrieval.Query{Filter: retrieval.Filter{Namespace: "ns"}, Text: "topic12 about 3", Limit: 5})
	x.must(err)
	if res.Mode != retrieval.Text || len(res.Passages) != 5 || res.Note != "the vectors could not be searched" {
		t.Errorf("searched by %s with %d passages: %q", res.Mode, len(res.Passages), res.Note)
	}
	x.embed()
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall after the tables were made again is %v", r)
	}
}

func anotherEmbedder(t *testing.T, x *indexed) {
	x.open(24)
	x.embed()
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall with vectors of another length is %v", r)
	}
	for range 2 { // one takes the old one out of use, the next one drops it
		x.embed()
	}
	if got := x.tables(); len(got) != 1 {
		t.Errorf("%d tables are left, want that of the new vectors", len(got))
	}
}

func TestVectorIndex_GoesOnWhereItWasInterrupted(t *testing.T) {
	x := newIndexed(t, pgtest.NewWithVectors(t), 2000) // long vectors make batches of 1048
	x.put("ns", 0, 120)
	_, err := x.all.Embed(t.Context(), nil) // which has no index
	x.must(err)
	index, _, err := x.db.VectorIndex(t.Context())
	x.must(err)
	g := retrieval.Generation{ID: x.serving(), Length: 2000}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil { // until the first batch is committed
			var n int
			if err := x.raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM parley_vectors.v1").Scan(&n); err == nil && n > 0 {
				cancel()
			}
		}
	}()
	if err := index.Follow(ctx, "ns", g); !errors.Is(err, context.Canceled) {
		t.Skipf("it was faster than its interruption: %v", err)
	}
	if ready, err := index.Ready(t.Context(), "ns", g.ID); ready || err != nil {
		t.Errorf("ready after the interruption: %v, %v", ready, err)
	}
	x.embed()
	if got := x.tables(); !slices.Equal(got, []int{1200}) {
		t.Errorf("the table has %v rows, want 1200", got)
	}
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall is %v", r)
	}
}

// An interrupted CREATE INDEX CONCURRENTLY leaves an index that no search may use.
func TestVectorIndex_ReplacesAnIndexThatIsNotWhole(t *testing.T) {
	at := pgtest.NewWithVectors(t)
	x := newIndexed(t, at, 48)
	x.put("ns", 0, 80)
	x.embed()
	pgtest.Exec(t, at, "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'parley_vectors.v1_hnsw'::regclass")
	pgtest.Exec(t, at, "UPDATE parley_vectors.indexes SET ready = FALSE")
	x.embed()
	var valid bool
	x.must(x.raw.QueryRowContext(t.Context(), "SELECT indisvalid FROM pg_index WHERE indexrelid = 'parley_vectors.v1_hnsw'::regclass").Scan(&valid))
	if s, err := x.db.VectorState(t.Context()); err != nil || s.Ready != 1 || !valid {
		t.Errorf("afterwards: %+v, valid: %v; %v", s, valid, err)
	}
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall is %v", r)
	}
}

// A role that may not create the extension does without it until an administrator has created it.
func TestVectorIndex_NeedsARightOnlyForTheExtension(t *testing.T) {
	at := pgtest.NewWithVectors(t)
	parsed, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	role := "limited_" + strings.TrimPrefix(parsed.Path, "/")
	pgtest.Exec(t, at, "CREATE ROLE "+role+" LOGIN")
	pgtest.Exec(t, at, "GRANT CREATE ON DATABASE "+strings.TrimPrefix(parsed.Path, "/")+" TO "+role)
	t.Cleanup(func() {
		pgtest.Exec(t, at, "DROP EXTENSION IF EXISTS vector CASCADE")
		pgtest.Exec(t, at, "DROP OWNED BY "+role+" CASCADE")
		pgtest.Exec(t, at, "DROP ROLE "+role)
	})
	query := parsed.Query()
	query.Set("user", role)
	parsed.RawQuery = query.Encode()
	x := newIndexed(t, parsed.String(), 48)
	x.put("ns", 0, 40)
	x.embed()
	if !strings.Contains(x.log.String(), "CREATE EXTENSION vector") {
		t.Errorf("nothing says what to do:\n%s", &x.log)
	}
	if r := x.recall(access.Principal{}); r != 1 {
		t.Errorf("recall in memory is %v", r)
	}
	mayCreate := func(want bool) {
		if s, err := x.db.VectorState(t.Context()); err != nil || s.MayCreate != want {
			t.Errorf("the state is %+v, want that the role may create what is missing: %v; %v", s, want, err)
		}
	}
	mayCreate(false)
	pgtest.Exec(t, at, "CREATE EXTENSION vector WITH SCHEMA public")
	mayCreate(true)
	x.put("ns", 40, 40)
	x.embed()
	if got := x.tables(); !slices.Equal(got, []int{800}) {
		t.Errorf("the table has %v rows, want 800", got)
	}
	if r := x.recall(access.Principal{}); r < 0.97 {
		t.Errorf("recall is %v", r)
	}
}

func TestVectorIndex_IsNoneWithoutPgvector(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if index, about, err := db.VectorIndex(t.Context()); index != nil || about != "" || err != nil {
		t.Errorf("a data folder has %v, %q, %v", index, about, err)
	}
	if index, about, err := openPostgres(t).VectorIndex(t.Context()); err != nil || index == nil && !strings.Contains(about, "pgvector") {
		t.Errorf("a server has %v, %q, %v", index, about, err)
	}
}
