package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"parley/internal/access"
	"parley/internal/documents/source"
	"parley/internal/extract"
	"parley/internal/retrieval"
)

// accessOf returns who may see the document of an object, and a hash of that list. Objects with equal lists share one.
func (o *remote) accessOf(object source.Object) (*access.List, string) {
	l := access.Nobody()
	if object.Rights != nil {
		l = object.Rights.Access
	}
	id := hashOf(l)
	if o.lists == nil {
		o.lists = map[string]*access.List{}
	}
	if o.lists[id] == nil {
		o.lists[id] = &l
	}
	return o.lists[id], id
}

// shared returns the copy of these rights that all objects with equal rights share.
func (o *remote) shared(rights *source.Rights) *source.Rights {
	if rights == nil {
		return nil
	}
	if o.listed == nil {
		o.listed = map[string]*source.Rights{}
	}
	id := hashOf(rights)
	if o.listed[id] == nil {
		o.listed[id] = rights
	}
	return o.listed[id]
}

// hashOf returns a short hash of a list or of rights.
func hashOf(names any) string {
	text, err := json.Marshal(names)
	if err != nil {
		panic(fmt.Sprintf("ingest: names cannot be encoded: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// rightsOff is objectState.Rights of a document that must be made anew because source_rights was turned off.
const rightsOff = "off"

// maxBatchRights is the number of changed access lists and rows at which settleRights commits them. After each commit the index
// in memory is loaded again.
const maxBatchRights = 5000

// settleRights gives stored documents the rights that the source now states, before the run reads anything: even if it cannot
// read a file, nobody may see more here than there. While a place cannot be listed, its documents are for nobody. After
// source_rights is turned off, documents are made anew.
func (r *run) settleRights(ctx context.Context, t *target, known map[string]knownFile) error {
	if t.remote.rights {
		r.reportFaults(t)
	}
	hadRights := func(f knownFile) bool { return decodeObjectState(f.State).Rights != "" }
	if !t.remote.rights && !slices.ContainsFunc(slices.Collect(maps.Values(known)), hadRights) {
		return nil
	}
	byKey := make(map[string]*candidate, len(t.candidates))
	for _, c := range t.candidates {
		byKey[c.key] = c
	}
	groups := map[string][]knownFile{} // rows by the path of the object, which comes first
	for _, f := range sortedFiles(known) {
		key := objectOf(f.Path, byKey, known)
		groups[key] = append(groups[key], f)
	}
	b := retrieval.Batch{Namespace: r.cfg.Namespace}
	apply := func() error {
		if len(b.PutAccess)+len(b.PutFiles) == 0 {
			return nil
		}
		if err := r.cfg.Corpus.Apply(ctx, b); err != nil {
			return fmt.Errorf("change the rights of %d documents: %w", len(b.PutAccess), err)
		}
		b = retrieval.Batch{Namespace: r.cfg.Namespace}
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		rows := groups[key]
		rows[0] = t.settleObject(&b, key, byKey[key], rows)
		known[rows[0].Path] = rows[0]
		if len(b.PutAccess)+len(b.PutFiles) >= maxBatchRights {
			if err := apply(); err != nil {
				return err
			}
		}
	}
	return apply()
}

// settleObject adds the changed rights of an object and its nested files, which have these rows, to a batch. It returns the
// first row, the object's own if it has one, as it then is. c is nil if the object is not listed.
func (t *target) settleObject(b *retrieval.Batch, key string, c *candidate, rows []knownFile) knownFile {
	first := rows[0]
	var state objectState
	if first.Path == key {
		state = decodeObjectState(first.State)
	}
	var list *access.List
	var id string
	switch {
	case c == nil && !t.unseen(first.Path):
		return first // the run deletes it
	case !t.remote.rights && state.Rights == "":
		return first
	case !t.remote.rights:
		// If this run is cut short, some nested files have their own rights already. With this mark, a later run with
		// source_rights sets the rights of all of them again.
		first.anew, id = true, rightsOff
	case c != nil:
		list, id = c.access, c.object.rights
	default:
		list, id = t.remote.accessOf(source.Object{}) // nobody
	}
	if c != nil && state.Version == "" { // it was a nested file before, for example
		first.anew = true
	}
	if state.Rights == id {
		return first
	}
	hadRights := state.Rights != "" && state.Rights != rightsOff
	for _, f := range rows {
		if f.DocumentID != "" && list != nil {
			b.PutAccess = append(b.PutAccess, retrieval.Access{ID: f.DocumentID, List: *list})
		}
		// A file that did not say clearly who may see it was not read. Now the source says it, so the file can be read.
		first.anew = first.anew || !hadRights && f.Reason == string(BadMetadata)
	}
	if state.Version != "" {
		state.Rights = id
		first.State = state.encode()
		b.PutFiles = append(b.PutFiles, first.File)
	}
	return first
}

// objectOf returns the path of the object to which a row belongs: its own, or that of the outermost file around it.
func objectOf(p string, byKey map[string]*candidate, known map[string]knownFile) string {
	if byKey[p] != nil {
		return p
	}
	for i, c := range p {
		if c != '/' {
			continue
		}
		row, ok := known[p[:i]]
		if byKey[p[:i]] != nil || ok && decodeObjectState(row.State).Version != "" {
			return p[:i]
		}
	}
	return p
}

// maxUnclear is the number of folders that a report names because of unknown rights.
const maxUnclear = 20

// reportFaults reports the objects whose rights are not known, those of a folder together.
func (r *run) reportFaults(t *target) {
	type fault struct{ dir, why string }
	count := map[fault]int{}
	for _, c := range t.candidates {
		if rights := c.object.Rights; rights != nil && rights.Fault != "" && r.cfg.Supports(c.path, nil) {
			count[fault{path.Dir(c.path), rights.Fault}]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b fault) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.why, b.why)) })
	tell := func(dir, detail string) {
		r.fail(FileResult{Path: strings.TrimSuffix(t.display(dir), "/."), Reason: extract.Unreadable, Detail: detail, Unclear: true})
	}
	for _, f := range all[:min(len(all), maxUnclear)] {
		files := fmt.Sprintf("%d files", count[f])
		if count[f] == 1 {
			files = "1 file"
		}
		tell(f.dir, fmt.Sprintf("who may read %s in this folder is not clear. At most the owners see them: %s", files, f.why))
	}
	if n := len(all) - maxUnclear; n > 0 {
		tell(".", fmt.Sprintf("and for %d more folders it is not clear who may read some of their files", n))
	}
}
