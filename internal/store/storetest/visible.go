package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// testVisible compares Document, Documents and the rights in a Snapshot with Filter.MaySee on
// random documents and callers.
func testVisible(t *testing.T, c corpus) {
	ctx := t.Context()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	users := []string{"u1", "u2", "staff", ""}
	groups := []string{"staff", "g1", "g2", "u1", ""}
	categories := []string{"", "manuals", "news"}

	var puts []retrieval.Put
	for i := range 80 {
		p := c.put(id(i), fmt.Sprintf("doc%03d", i))
		p.Document.Category = pick(r, categories)
		p.Document.Access = access.List{}
		if r.IntN(3) > 0 {
			p.Document.Access = access.List{Users: some(r, users), Groups: some(r, groups), SignedIn: r.IntN(6) == 0}
		}
		puts = append(puts, p)
	}
	c.apply(retrieval.Batch{Namespace: "ns", Put: puts})

	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.sameRights(puts, snap.Current)
	matched := 0
	members := []*access.Members{nil, nil, nil, access.NewMembers([]string{"ns"}, []access.Member{{Namespace: "ns", Name: users[1], Role: access.Reader},
		{Namespace: "ns", Group: true, Name: groups[0], Role: access.Editor}}), access.NewMembers([]string{"other"}, nil)}
	namespaces := [][]string{nil, nil, {"ns"}, {"other", "ns"}, {"other"}, {}}
	for range 200 {
		f := retrieval.Filter{
			Namespace:       "ns",
			Principal:       access.Principal{Subject: pick(r, users), Groups: some(r, groups), Namespaces: pick(r, namespaces), Members: pick(r, members)},
			IncludeCategory: pick(r, categories),
			ExcludeCategory: pick(r, categories),
			RequireUser:     r.IntN(4) == 0,
			RequireGroup:    r.IntN(4) == 0,
		}
		matched += c.sameDocuments(f, puts)
	}
	if matched == 0 {
		t.Error("no filter let anything through")
	}
}

// sameRights checks that a snapshot has the categories and access lists that were put.
func (c corpus) sameRights(puts []retrieval.Put, got []retrieval.Rights) {
	c.Helper()
	var want []retrieval.Rights
	for _, p := range puts {
		r := rightsOf(p)
		r.Access.Users, r.Access.Groups = unique(r.Access.Users), unique(r.Access.Groups)
		want = append(want, r)
	}
	slices.SortFunc(want, func(a, b retrieval.Rights) int { return cmp.Compare(a.Revision, b.Revision) })
	c.equal("rights", want, got)
}

// unique returns the elements without duplicates, in the order of first occurrence.
func unique(all []string) []string {
	var once []string
	for _, s := range all {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// sameDocuments checks that lists and lookups agree with MaySee. It returns how many documents the
// filter admits.
func (c corpus) sameDocuments(f retrieval.Filter, puts []retrieval.Put) int {
	c.Helper()
	listed, err := c.Documents(c.Context(), f, "", len(puts))
	c.must(err)
	names := []string{}
	for _, d := range listed {
		names = append(names, d.Name)
	}
	want, size := []string{}, int64(0)
	for _, p := range puts {
		if f.MaySee(p.Document.Category, p.Document.Access) {
			want, size = append(want, p.Document.Name), size+p.Document.Size
		}
	}
	c.equal("names listed", want, names)
	found, total, err := c.FindDocuments(c.Context(), f, "", "", len(puts))
	c.must(err)
	c.equal("documents found", listed, found)
	c.equal("documents counted", len(want), total)
	byAge, err := c.DocumentsByAge(c.Context(), f, retrieval.ByAge{Limit: len(puts)})
	c.must(err)
	slices.SortFunc(byAge, func(a, b retrieval.Document) int { return cmp.Compare(a.Name, b.Name) })
	c.equal("documents listed by age", listed, byAge)
	stats, err := c.VisibleStats(c.Context(), f)
	c.must(err)
	c.equal("documents and bytes counted", []int64{int64(len(want)), size}, []int64{int64(stats.Documents), stats.Bytes})
	some := puts[rand.IntN(len(puts))].Document
	_, err = c.Document(c.Context(), f, some.Name)
	if found := err == nil; found != slices.Contains(want, some.Name) {
		c.Errorf("Document(%+v, %s): %v", f, some.Name, err)
	}
	_, err = c.DocumentByID(c.Context(), f, some.ID)
	if found := err == nil; found != slices.Contains(want, some.Name) {
		c.Errorf("DocumentByID(%+v, %s): %v", f, some.ID, err)
	}
	return len(want)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// some returns up to two elements, perhaps the same one twice.
func some(r *rand.Rand, from []string) []string {
	var all []string
	for range r.IntN(3) {
		all = append(all, pick(r, from))
	}
	return all
}

// testEachDocument reads documents by their revisions, whoever may see them.
func testEachDocument(t *testing.T, c corpus) {
	var puts []retrieval.Put
	for i := range 5 {
		p := c.put(id(i), fmt.Sprintf("doc%d", i))
		if i == 1 {
			p.Document.Attributes = nil
		}
		puts = append(puts, p)
	}
	c.apply(retrieval.Batch{Namespace: "ns", Put: puts})
	other := c.put(id(9), "other")
	c.apply(retrieval.Batch{Namespace: "other", Put: []retrieval.Put{other}})
	for _, asked := range [][]int64{nil, {}, {puts[1].Document.Revision, puts[3].Document.Revision, other.Document.Revision, 1 << 40}} {
		var got, want []string
		c.must(c.EachDocument(t.Context(), "ns", asked, func(d retrieval.Document) {
			got = append(got, fmt.Sprintf("%s %d %s", d.Name, d.Revision, d.Attributes))
		}))
		for _, p := range puts {
			if asked == nil || slices.Contains(asked, p.Document.Revision) {
				want = append(want, fmt.Sprintf("%s %d %s", p.Document.Name, p.Document.Revision, p.Document.Attributes))
			}
		}
		slices.Sort(got)
		c.equal(fmt.Sprintf("the documents of %v", asked), want, got)
	}
}
