package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// ruleTrial changes documents and rules of a store at random, and keeps what should be stored.
type ruleTrial struct {
	corpus
	r              *rand.Rand
	names, folders []string
	lists          []access.List
	files          map[string]retrieval.Document // as put, by name
	rules          []retrieval.Rule
}

// testRules changes documents and rules at random, and compares the rights with those that the nearest rules give.
func testRules(t *testing.T, c corpus) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	trial := &ruleTrial{
		corpus:  c,
		r:       rand.New(rand.NewPCG(seed, 2)),
		names:   []string{"a.md", "hr/a.md", "hr/pay/a.md", "hr/pay/b.md", "hr0/a.md", "hr-old/a.md", "h/a.md", "hr/päy/a.md"},
		folders: []string{retrieval.WholeNamespace, "hr/", "hr/pay/", "h/", "hr/päy/", "none/"},
		lists:   []access.List{{}, {SignedIn: true}, {Users: []string{"ann", "bob"}}, {Groups: []string{"hr"}}, {Users: []string{"eve"}, Groups: []string{"hr", "it"}}},
		files:   map[string]retrieval.Document{},
	}
	changes := []func(step int) string{trial.putFile, trial.putFile, trial.deleteFile, trial.putRule, trial.putRule, trial.dropRule, trial.say}
	for step := range 150 {
		trial.rightsAre(pick(trial.r, changes)(step))
	}
	trial.makeAnew()
}

// putFile puts a document or a new revision of it. Like every change, it returns a description of what it did.
func (c *ruleTrial) putFile(step int) string {
	name := pick(c.r, c.names)
	d, there := c.files[name]
	p := c.put(d.ID, name)
	if p.Document.Access = pick(c.r, c.lists); !there {
		p.Document.ID, p.Document.Owner = id(step), pick(c.r, []string{"", "", "olga", "otto"})
	} else {
		p.Document.Owner = d.Owner
	}
	c.files[name] = p.Document
	done, err := c.Apply(c.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
	c.must(err)
	if by := retrieval.NearestRule(c.rules, name, p.Document.Owner); by != "" {
		c.equal("rights that Apply says", map[int64]access.List{p.Document.Revision: effective(c.rules, p.Document)}, done.Ruled)
	}
	return "put " + name
}

func (c *ruleTrial) deleteFile(int) string {
	name := pick(c.r, c.names)
	d, there := c.files[name]
	if !there {
		return "nothing"
	}
	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{d.ID}})
	if delete(c.files, name); d.Owner != "" {
		c.forget(name, d.Owner)
	}
	return "delete " + name
}

func (c *ruleTrial) putRule(int) string {
	rule := retrieval.Rule{Path: pick(c.r, c.folders), Access: pick(c.r, c.lists)}
	name := pick(c.r, c.names)
	if d, there := c.files[name]; there && c.r.IntN(2) == 0 {
		rule.Path, rule.Owner = name, d.Owner
	}
	doing := fmt.Sprintf("rule %+v", rule)
	c.forget(rule.Path, rule.Owner)
	c.rules = append(c.rules, rule)
	_, n, err := c.PutRule(c.Context(), "ns", rule)
	c.must(err)
	want := 0
	for _, d := range c.files {
		if retrieval.NearestRule(c.rules, d.Name, d.Owner) == rule.Path && rule.Covers(d.Name, d.Owner) {
			want++
		}
	}
	c.equal(doing+" decides over", want, n)
	return doing
}

func (c *ruleTrial) dropRule(int) string {
	path, owner := pick(c.r, slices.Concat(c.folders, c.names)), pick(c.r, []string{"", "olga"})
	doing := fmt.Sprintf("drop the rule of %q of %q", path, owner)
	_, _, err := c.DropRule(c.Context(), "ns", path, owner)
	if had := c.forget(path, owner); had && err != nil || !had && !errors.Is(err, retrieval.ErrNotFound) {
		c.Fatalf("%s: %v", doing, err)
	}
	return doing
}

// forget removes a rule from the expected ones, and reports whether it was there.
func (c *ruleTrial) forget(path, owner string) bool {
	n := len(c.rules)
	c.rules = slices.DeleteFunc(c.rules, func(rule retrieval.Rule) bool { return rule.Path == path && rule.Owner == owner })
	return len(c.rules) < n
}

// say changes the rights that the files of several documents state. Some of the documents obey a rule.
func (c *ruleTrial) say(step int) string {
	batch := retrieval.Batch{Namespace: "ns"}
	for range 4 {
		name := pick(c.r, c.names)
		d, there := c.files[name]
		if d.Access = pick(c.r, c.lists); there {
			c.files[name] = d
		} else {
			d.ID = id(step)
		}
		batch.PutAccess = append(batch.PutAccess, retrieval.Access{ID: d.ID, List: d.Access})
	}
	c.apply(batch)
	return fmt.Sprintf("files say %+v", batch.PutAccess)
}

// makeAnew rebuilds all documents beside the old ones, and then replaces these. The rights that the old files stated stay,
// even if the new ones state others.
func (c *ruleTrial) makeAnew() {
	for name, d := range c.files {
		p := c.put(d.ID, name)
		p.Document.Access, p.Document.Owner = d.Access, d.Owner
		anew := p
		anew.Document.Access = pick(c.r, c.lists)
		anew.Document.ID, anew.Document.Namespace = retrieval.AsideID(d), retrieval.Aside("ns")
		c.apply(retrieval.Batch{Namespace: retrieval.Aside("ns"), Put: []retrieval.Put{anew}})
		c.files[name] = p.Document
	}
	_, n, err := c.SwitchAside(c.Context(), retrieval.Switch{Namespace: "ns"})
	c.must(err)
	c.equal("documents made anew", len(c.files), n)
	c.rightsAre("made anew")
}

// effective returns who may see a document, by the rules or by its file.
func effective(rules []retrieval.Rule, d retrieval.Document) access.List {
	by := retrieval.NearestRule(rules, d.Name, d.Owner)
	for _, rule := range rules {
		if rule.Path == by && rule.Covers(d.Name, d.Owner) {
			return rule.Access
		}
	}
	return d.Access
}

func (c *ruleTrial) rightsAre(doing string) {
	c.Helper()
	snap, err := c.Snapshot(c.Context(), "ns")
	c.must(err)
	got, want := map[int64]access.List{}, map[int64]access.List{}
	for _, one := range snap.Current {
		got[one.Revision] = one.Access
	}
	for name, d := range c.files {
		want[d.Revision] = effective(c.rules, d)
		found, err := c.RightsOf(c.Context(), "ns", name)
		c.must(err)
		c.equal(doing+": "+name, []any{want[d.Revision], d.Access, retrieval.NearestRule(c.rules, name, d.Owner)}, []any{found.Access, found.Said, found.By})
	}
	c.equal(doing+": rights in the snapshot", want, got)
	if c.Failed() {
		c.FailNow()
	}
}
