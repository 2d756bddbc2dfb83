package retrieval_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
	"parley/internal/llm/llmtest"
	"parley/internal/retrieval"
	"parley/internal/text"
	"parley/test/needs"
)

// secret is a document with a canary: a word that stands in no other document.
type secret struct {
	retrieval.Put             // its Access is what counts
	said          access.List // what its file says
	namespace     string
	canary        string
	words         map[string]bool // its terms
}

// canary returns a word of letters that differs from all others by more than one slip.
func canary(n int) string {
	const letters = "bdgklmprtv"
	word := "k"
	for _, d := range fmt.Sprintf("%03d", n) {
		word += strings.Repeat(string(letters[d-'0'])+"o", 2)
	}
	return word + "x"
}

// vault is a corpus of two tenants whose documents have secrets from one another.
type vault struct {
	*world
	rnd        *rand.Rand
	secrets    []secret
	rules      map[string][]retrieval.Rule // by namespace
	vectorless map[int]bool                // secrets that have no vector; nil when none has
	seen       func(retrieval.Result)      // nil for none
}

var (
	vaultTenants    = []string{"acme", "globex"}
	vaultUsers      = []string{"", "ann", "bob", "staff", "group"}
	vaultGroups     = []string{"staff", "board", "ann", "group"}
	vaultCategories = []string{"", "", "manuals", "news"}
	vaultWords      = strings.Fields("plan benefit coverage vision dental claim premium network provider drug")
)

func newVault(t testing.TB, documents int, options ...retrieval.Option) *vault {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	v := &vault{world: newWorld(t, options...), rules: map[string][]retrieval.Rule{}, rnd: rand.New(rand.NewPCG(seed, 1))}
	for n := range documents {
		v.secrets = append(v.secrets, v.secret(n, n))
	}
	for _, ns := range vaultTenants {
		b := retrieval.Batch{Namespace: ns}
		for _, s := range v.secrets {
			if s.namespace == ns {
				b.Put = append(b.Put, s.Put)
			}
		}
		v.apply(b)
	}
	return v
}

// secret returns document n with a canary and random words and rights.
func (v *vault) secret(n, number int) secret {
	s := secret{namespace: vaultTenants[n%2], canary: canary(number), words: map[string]bool{}}
	body := []string{s.canary}
	for range 4 + v.rnd.IntN(20) {
		body = append(body, pick(v.rnd, vaultWords))
	}
	s.Put = document(fmt.Sprintf("f%03d", n), strings.Join(body, " "))
	s.Document.Category = pick(v.rnd, vaultCategories)
	if v.rnd.IntN(4) > 0 {
		s.Document.Access = v.list()
	}
	s.said = s.Document.Access
	for _, t := range text.Terms(strings.Join(body, " ") + " " + s.Document.Name) {
		s.words[t] = true
	}
	return s
}

func (v *vault) list() access.List {
	return access.List{Users: some(v.rnd, vaultUsers), Groups: some(v.rnd, vaultGroups), SignedIn: v.rnd.IntN(8) == 0}
}

// changeRule sets or drops the rule of a namespace or of a document.
func (v *vault) changeRule() {
	v.Helper()
	s := pick(v.rnd, v.secrets)
	rule := retrieval.Rule{Path: pick(v.rnd, []string{s.Document.Name, s.Document.Name, retrieval.WholeNamespace}), Access: v.list()}
	kept := slices.DeleteFunc(slices.Clone(v.rules[s.namespace]), func(r retrieval.Rule) bool { return r.Path == rule.Path })
	var err error
	if len(kept) < len(v.rules[s.namespace]) && v.rnd.IntN(2) == 0 {
		_, err = v.corpus.DropRule(v.Context(), s.namespace, rule.Path, "")
	} else {
		kept = append(kept, rule)
		_, err = v.corpus.PutRule(v.Context(), s.namespace, rule)
	}
	if err != nil {
		v.Fatal(err)
	}
	v.rules[s.namespace] = kept
}

// settle has the secrets know their rights.
func (v *vault) settle() {
	for i := range v.secrets {
		s := &v.secrets[i]
		s.Document.Access = s.said
		by := retrieval.NearestRule(v.rules[s.namespace], s.Document.Name, "")
		for _, r := range v.rules[s.namespace] {
			if r.Path == by {
				s.Document.Access = r.Access
			}
		}
	}
}

// query returns a random one: of any caller, with any filter, for words, canaries and misspelt
// canaries.
func (v *vault) query() retrieval.Query {
	q := retrieval.Query{
		Filter: retrieval.Filter{
			Namespace: pick(v.rnd, vaultTenants),
			Principal: access.Principal{Subject: pick(v.rnd, vaultUsers), Groups: some(v.rnd, vaultGroups)},
		},
		Mode:     pick(v.rnd, []retrieval.Mode{"", retrieval.Text, retrieval.Vectors, retrieval.Hybrid}),
		Limit:    1 + v.rnd.IntN(12),
		Captions: v.rnd.IntN(2) == 0,
	}
	if v.rnd.IntN(3) == 0 {
		q.IncludeCategory, q.ExcludeCategory = pick(v.rnd, vaultCategories), pick(v.rnd, vaultCategories)
	}
	if v.rnd.IntN(3) == 0 {
		q.RequireUser, q.RequireGroup = v.rnd.IntN(2) == 0, v.rnd.IntN(2) == 0
	}
	words := []string{"what", "is"}
	for range 1 + v.rnd.IntN(4) {
		words = append(words, pick(v.rnd, vaultWords))
	}
	for range v.rnd.IntN(4) {
		word := pick(v.rnd, v.secrets).canary
		if v.rnd.IntN(2) == 0 {
			word = word[:len(word)-1] + "z"
		}
		if v.rnd.IntN(3) == 0 {
			q.Context = append(q.Context, retrieval.WeightedTerm{Word: word, Weight: .5})
		} else {
			words = append(words, word)
		}
	}
	q.Text = strings.Join(words, " ")
	if v.rnd.IntN(4) == 0 {
		q.Text += ", and how is the " + pick(v.rnd, vaultWords) + " of " + pick(v.rnd, v.secrets).canary + "?"
	}
	return q
}

// check searches and compares the result with what the caller may know.
func (v *vault) check(q retrieval.Query) (hidden int) {
	v.Helper()
	res := v.search(q)
	if v.seen != nil {
		v.seen(res)
	}
	asked := map[string]bool{}
	for _, t := range res.Terms {
		if t.Known {
			asked[t.Text] = true
		}
	}
	said := make([]string, len(res.Passages))
	for i, p := range res.Passages {
		said[i] = fmt.Sprintf("%+v", p)
	}
	var byWords, byVectors, byEither int
	for i, s := range v.secrets {
		if s.namespace != q.Namespace || !q.MaySee(s.Document.Category, s.Document.Access) {
			hidden++
			v.checkAbsent(q, res, said, s)
			continue
		}
		words, vector := false, v.vectorless != nil && !v.vectorless[i]
		for term := range asked {
			words = words || s.words[term]
		}
		byWords, byVectors, byEither = byWords+count(words), byVectors+count(vector), byEither+count(words || vector)
	}
	found, matched := byWords, byWords
	switch res.Mode {
	case retrieval.Vectors:
		found, matched = byVectors, byVectors
	case retrieval.Hybrid:
		found, matched = byEither, max(byWords, byVectors)
	}
	if want := min(q.Limit, found); len(res.Passages) != want || res.Matched != matched {
		v.Fatalf("%d passages of %d that match, want %d of %d\nmode %s of query %+v", len(res.Passages), res.Matched, want, matched, res.Mode, q)
	}
	return hidden
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkAbsent checks that nothing in the result, whose passages say all that, comes from a secret.
func (v *vault) checkAbsent(q retrieval.Query, res retrieval.Result, all []string, s secret) {
	v.Helper()
	for i, said := range all {
		if strings.Contains(said, s.canary) || res.Passages[i].Document.ID == s.Document.ID {
			v.Fatalf("the canary %s crossed\nquery %+v\npassage %s", s.canary, q, said)
		}
	}
	for _, t := range res.Terms {
		if t.Text == s.canary && (t.Known || t.Word != s.canary) {
			v.Fatalf("the canary %s is told of by the term %+v\nquery %+v", s.canary, t, q)
		}
	}
}

func TestSearch_LetsNoCanaryCross(t *testing.T) {
	newVault(t, 160).guard(func(int) {})
}

// TestSearch_LetsNoCanaryCrossByVectors is the same with vectors, which some documents do not have
// yet at any moment.
func TestSearch_LetsNoCanaryCrossByVectors(t *testing.T) {
	needs.Long(t)
	v := newVault(t, 160, with(&llmtest.Embedder{}))
	embedded := func() {
		v.embed()
		v.vectorless = map[int]bool{}
	}
	embedded()
	modes := map[retrieval.Mode]int{}
	v.seen = func(res retrieval.Result) { modes[res.Mode]++ }
	v.guard(func(changed int) {
		v.vectorless[changed] = true
		if len(v.vectorless) > 5 {
			embedded()
		}
	})
	for _, m := range []retrieval.Mode{retrieval.Text, retrieval.Vectors, retrieval.Hybrid} {
		if modes[m] < 100 {
			t.Errorf("%d searches by %s: %v", modes[m], m, modes)
		}
	}
}

// guard searches thousands of times. Now and again a document changes, of which it tells.
func (v *vault) guard(changed func(n int)) {
	v.Helper()
	queries := 2_500
	switch {
	case needs.Race: // each reads its passages ten times as slowly; the run without it compares them
		queries = 800
	case needs.All():
		queries = 10_000
	}
	hidden, next := 0, len(v.secrets)
	for i := range queries {
		hidden += v.check(v.query())
		if i%100 != 99 {
			continue
		}
		// Rights, categories and canaries change, and what is in memory must follow at once.
		if i%300 == 299 {
			v.changeRule()
		}
		n := v.rnd.IntN(len(v.secrets))
		v.secrets[n] = v.secret(n, next%1000)
		next++
		v.apply(retrieval.Batch{Namespace: v.secrets[n].namespace, Put: []retrieval.Put{v.secrets[n].Put}})
		v.settle()
		changed(n)
	}
	if hidden < queries {
		v.Errorf("only %d documents were hidden in %d queries", hidden, queries)
	}
}

func pick[T any](rnd *rand.Rand, from []T) T { return from[rnd.IntN(len(from))] }

// some returns up to two elements, perhaps the same one twice.
func some(rnd *rand.Rand, from []string) (all []string) {
	for range rnd.IntN(3) {
		all = append(all, pick(rnd, from))
	}
	return all
}

func TestSearch_FiltersBeforeTheBestAreChosen(t *testing.T) {
	w := newWorld(t)
	secretly := access.List{Groups: []string{"board"}}
	var puts []retrieval.Put
	for i := range 3000 {
		puts = append(puts, restricted(document(fmt.Sprintf("hidden-%d", i), "merger merger merger"), secretly))
	}
	for i := range 12 {
		puts = append(puts, document(fmt.Sprintf("open-%d", i), strings.Repeat("something else entirely that is long ", 20)+"merger"))
	}
	w.put(puts...)
	res := w.ask("merger")
	if len(res.Passages) != 10 || res.Matched != 12 {
		t.Errorf("%d passages of %d, want 10 of 12", len(res.Passages), res.Matched)
	}
	board := retrieval.Filter{Principal: access.Principal{Groups: []string{"board"}}}
	if res := w.search(retrieval.Query{Filter: board, Text: "merger"}); res.Matched != 3012 {
		t.Errorf("the board sees %d passages, want all", res.Matched)
	}
}

func TestSearch_FollowsAChangeOfRightsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.put(colours(10)...)
	other := openWorld(t, w.dir)
	ann := retrieval.Filter{Principal: access.Principal{Subject: "ann"}}
	bob := retrieval.Filter{Principal: access.Principal{Subject: "bob", Groups: []string{"board"}}}
	everyone := []retrieval.Filter{{}, ann, bob}
	steps := []struct {
		list access.List
		want []bool // by everyone
	}{
		{access.List{}, []bool{true, true, true}},
		{access.List{Users: []string{"ann"}}, []bool{false, true, false}},
		{access.List{Groups: []string{"board"}}, []bool{false, false, true}},
		{access.List{Users: []string{"bob", "ann"}}, []bool{false, true, true}},
		{access.List{Users: []string{"board"}}, []bool{false, false, false}},
		{access.List{}, []bool{true, true, true}},
	}
	for i, s := range steps {
		by := w
		if i%2 == 1 {
			by = other
		}
		by.put(restricted(document("report", "the merger"), s.list))
		for n, f := range everyone {
			if got := len(by.search(retrieval.Query{Filter: f, Text: "merger"}).Passages) > 0; got != s.want[n] {
				t.Errorf("step %d: %+v sees the document: %v", i, f.Principal, got)
			}
			// The other process may take a moment to see more, but none to see less.
			for _, x := range []*world{w, other} {
				sees := func() bool { return len(x.search(retrieval.Query{Filter: f, Text: "merger"}).Passages) > 0 }
				if s.want[n] {
					eventually(t, "see what was granted elsewhere", sees)
				} else if sees() {
					t.Errorf("step %d: %+v sees the document in the other process", i, f.Principal)
				}
			}
		}
	}
}

// TestSearch_LooksAtTheStoredRightsOnceMore changes rights where nobody should, below the store.
func TestSearch_LooksAtTheStoredRightsOnceMore(t *testing.T) {
	w := newWorld(t)
	w.put(colours(10)...)
	w.put(document("report", "the merger"))
	if got := names(w.ask("merger")); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	w.exec("UPDATE documents SET restricted = 1 WHERE name = 'report'")
	w.exec("INSERT INTO document_access SELECT revision, 0, 'ann', 0 FROM documents WHERE name = 'report'")
	if got := names(w.ask("merger")); len(got) != 0 {
		t.Errorf("found %v", got)
	}
}

// TestSearch_KeepsTheStatisticsOfNamespacesApart compares a tenant alone with one beside another.
func TestSearch_KeepsTheStatisticsOfNamespacesApart(t *testing.T) {
	alone, beside := newWorld(t), newWorld(t)
	var others []retrieval.Put
	for i := range 300 {
		p := document(fmt.Sprintf("other-%d", i), "wall painted red zebra")
		p.Document.ID = "other " + p.Document.ID
		others = append(others, p)
	}
	alone.put(colours(30)...)
	beside.apply(retrieval.Batch{Namespace: "elsewhere", Put: others[:150]})
	beside.put(colours(30)...)
	beside.apply(retrieval.Batch{Namespace: "elsewhere", Put: others[150:]})
	for _, q := range []string{"wall painted red", "zebra", "zebrra", "w12x", "red or blue inside, and what is the door?"} {
		want, got := alone.ask(q), beside.ask(q)
		diff := cmp.Diff(want.Terms, got.Terms)
		scores := func(r retrieval.Result) (all []float64) {
			for _, p := range r.Passages {
				all = append(all, *p.Scores.BM25, p.Score)
			}
			return all
		}
		if diff += cmp.Diff(scores(want), scores(got)) + cmp.Diff(names(want), names(got)); diff != "" {
			t.Errorf("%q alone and beside another tenant (-alone +beside):\n%s", q, diff)
		}
	}
	if slices.ContainsFunc(beside.ask("zebra").Terms, func(t retrieval.Term) bool { return t.Known }) {
		t.Error("a word of another tenant is known")
	}
}

func TestSearch_DoesNotTakeListsForOneAnother(t *testing.T) {
	w := newWorld(t)
	w.put(restricted(document("report", "the merger"), access.List{Groups: []string{"a", "b"}}))
	w.put(restricted(document("draft", "the merger"), access.List{Groups: []string{"1:a1:b"}}))
	for group, want := range map[string][]string{"a": {"report"}, "1:a1:b": {"draft"}, "a\x00b": {}, "a1:b": {}, "": {}} {
		f := retrieval.Filter{Principal: access.Principal{Groups: []string{group}}}
		if diff := cmp.Diff(want, names(w.search(retrieval.Query{Filter: f, Text: "merger"}))); diff != "" {
			t.Errorf("seen by the group %q (-want +got):\n%s", group, diff)
		}
	}
}

// The result of joining a long list of groups is kept by the place of the list, so places must not be taken for one another either.
func TestSearch_DoesNotTakeLongListsForOneAnother(t *testing.T) {
	w := newWorld(t)
	w.put(restricted(document("report", "the merger"), access.List{Groups: []string{"group-99"}}))
	groups := make([]string, 100)
	for i := range groups {
		groups[i] = fmt.Sprintf("group-%d", i)
	}
	for _, c := range []struct {
		of   []string
		want []string
	}{{groups, []string{"report"}}, {groups[:99], []string{}}, {slices.Clone(groups), []string{"report"}}, {groups[1:], []string{"report"}}, {groups[1:50], []string{}}} {
		for range 2 {
			got := names(w.search(retrieval.Query{Filter: retrieval.Filter{Principal: access.Principal{Groups: c.of}}, Text: "merger"}))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("seen by %d groups from %s on (-want +got):\n%s", len(c.of), c.of[0], diff)
			}
		}
	}
}
