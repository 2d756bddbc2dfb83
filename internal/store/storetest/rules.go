package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// testRules changes documents and rules at random, and compares the rights with those that the nearest rules give.
func testRules(t *testing.T, c corpus) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	names := []string{"a.md", "hr/a.md", "hr/pay/a.md", "hr/pay/b.md", "hr0/a.md", "hr-old/a.md", "h/a.md", "hr/päy/a.md"}
	folders := []string{retrieval.WholeNamespace, "hr/", "hr/pay/", "h/", "hr/päy/", "none/"}
	lists := []access.List{{}, {SignedIn: true}, {Users: []string{"ann", "bob"}}, {Groups: []string{"hr"}}, {Users: []string{"eve"}, Groups: []string{"hr", "it"}}}
	files := map[string]retrieval.Document{} // as put, by name
	var rules []retrieval.Rule
	drop := func(path, owner string) (had bool) {
		for i, rule := range rules {
			if rule.Path == path && rule.Owner == owner {
				rules = append(rules[:i:i], rules[i+1:]...)
				return true
			}
		}
		return false
	}
	for step := range 150 {
		name := pick(r, names)
		var doing string
		switch r.IntN(7) {
		case 0, 1:
			d, there := files[name]
			p := c.put(d.ID, name)
			if p.Document.Access = pick(r, lists); !there {
				p.Document.ID, p.Document.Owner = id(step), pick(r, []string{"", "", "olga", "otto"})
			} else {
				p.Document.Owner = d.Owner
			}
			doing, files[name] = "put "+name, p.Document
			done, err := c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
			c.must(err)
			if by := retrieval.NearestRule(rules, name, p.Document.Owner); by != "" {
				c.equal("rights that Apply says", map[int64]access.List{p.Document.Revision: effective(rules, p.Document)}, done.Ruled)
			}
		case 2:
			d, there := files[name]
			if !there {
				continue
			}
			doing = "delete " + name
			c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{d.ID}})
			if delete(files, name); d.Owner != "" {
				drop(name, d.Owner)
			}
		case 3, 4:
			rule := retrieval.Rule{Path: pick(r, folders), Access: pick(r, lists)}
			if d, there := files[name]; there && r.IntN(2) == 0 {
				rule.Path, rule.Owner = name, d.Owner
			}
			doing = fmt.Sprintf("rule %+v", rule)
			drop(rule.Path, rule.Owner)
			rules = append(rules, rule)
			_, n, err := c.PutRule(t.Context(), "ns", rule)
			c.must(err)
			want := 0
			for _, d := range files {
				if retrieval.NearestRule(rules, d.Name, d.Owner) == rule.Path && rule.Covers(d.Name, d.Owner) {
					want++
				}
			}
			c.equal(doing+" decides over", want, n)
		case 5:
			path, owner := pick(r, append(folders, names...)), pick(r, []string{"", "olga"})
			doing = fmt.Sprintf("drop the rule of %q of %q", path, owner)
			_, _, err := c.DropRule(t.Context(), "ns", path, owner)
			if had := drop(path, owner); had && err != nil || !had && !errors.Is(err, retrieval.ErrNotFound) {
				t.Fatalf("%s: %v", doing, err)
			}
		case 6:
			// Several documents, some of which a rule decides over, with a few lists.
			several := []string{name, pick(r, names), pick(r, names), pick(r, names)}
			batch := retrieval.Batch{Namespace: "ns"}
			for _, name := range several {
				d, there := files[name]
				if d.Access = pick(r, lists); there {
					files[name] = d
				} else {
					d.ID = id(step)
				}
				batch.PutAccess = append(batch.PutAccess, retrieval.Access{ID: d.ID, List: d.Access})
			}
			doing = fmt.Sprintf("the files of %q say %+v", several, batch.PutAccess)
			c.apply(batch)
		}
		c.rightsAre(doing, rules, files)
	}
	c.rulesDecideOverDocumentsMadeAnew(r, lists, rules, files)
}

// rulesDecideOverDocumentsMadeAnew makes all documents anew, aside from the others, and puts them in their places. What their
// files say about rights stays as it was before that, also if it has changed meanwhile.
func (c corpus) rulesDecideOverDocumentsMadeAnew(r *rand.Rand, lists []access.List, rules []retrieval.Rule, files map[string]retrieval.Document) {
	for name, d := range files {
		p := c.put(d.ID, name)
		p.Document.Access, p.Document.Owner = d.Access, d.Owner
		anew := p
		anew.Document.Access = pick(r, lists)
		anew.Document.ID, anew.Document.Namespace = retrieval.AsideID(d), retrieval.Aside("ns")
		c.apply(retrieval.Batch{Namespace: retrieval.Aside("ns"), Put: []retrieval.Put{anew}})
		files[name] = p.Document
	}
	_, n, err := c.SwitchAside(c.Context(), retrieval.Switch{Namespace: "ns"})
	c.must(err)
	c.equal("documents made anew", len(files), n)
	c.rightsAre("made anew", rules, files)
}

// effective returns who may see a document, by the rules or by what its file says.
func effective(rules []retrieval.Rule, d retrieval.Document) access.List {
	by := retrieval.NearestRule(rules, d.Name, d.Owner)
	for _, rule := range rules {
		if rule.Path == by && rule.Covers(d.Name, d.Owner) {
			return rule.Access
		}
	}
	return d.Access
}

func (c corpus) rightsAre(doing string, rules []retrieval.Rule, files map[string]retrieval.Document) {
	c.Helper()
	snap, err := c.Snapshot(c.Context(), "ns")
	c.must(err)
	got, want := map[int64]access.List{}, map[int64]access.List{}
	for _, one := range snap.Current {
		got[one.Revision] = one.Access
	}
	for name, d := range files {
		want[d.Revision] = effective(rules, d)
		found, err := c.RightsOf(c.Context(), "ns", name)
		c.must(err)
		c.equal(doing+": "+name, []any{want[d.Revision], d.Access, retrieval.NearestRule(rules, name, d.Owner)}, []any{found.Access, found.Said, found.By})
	}
	c.equal(doing+": rights in the snapshot", want, got)
	if c.Failed() {
		c.FailNow()
	}
}
