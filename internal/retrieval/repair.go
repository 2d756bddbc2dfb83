package retrieval

import (
	"context"
	"errors"
	"fmt"
)

// WithLateRepair makes Open leave incomplete indexes as they are; searches use what is there. The caller then
// calls Repair, which may take minutes if the analyser has changed and the corpus is large.
func WithLateRepair() Option { return func(c *Corpus) { c.late.Store(true) } }

// Repair completes the indexes of all namespaces from the stored chunks, in small transactions. Searches see
// each index as soon as it is complete. Repair returns at once if nothing is missing. Searches and changes
// repair incomplete indexes by themselves only after it has returned.
func (c *Corpus) Repair(ctx context.Context) error {
	if !c.late.Load() {
		return nil
	}
	names, err := c.store.Namespaces(ctx)
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, ns := range names {
		if err := c.repairNamespace(ctx, ns); err != nil {
			return fmt.Errorf("repair the index of namespace %q: %w", ns, err)
		}
	}
	c.late.Store(false)
	return nil
}

// repairNamespace completes one index. Another process may be repairing it, too; duplicate work is found when the index is read
// again.
func (c *Corpus) repairNamespace(ctx context.Context, namespace string) error {
	defer c.keep(namespace)()
	s := c.space(namespace)
	for range maxRepairs {
		snap, err := c.store.Snapshot(ctx, namespace)
		if err != nil {
			return err
		}
		opened, broken, err := c.openSegments(ctx, snap, s.state.Load())
		if err != nil {
			return err
		}
		index := assemble(snap.Current, opened)
		broken = append(broken, index.redundant...)
		if len(index.missing)+len(broken) == 0 {
			return nil
		}
		c.log.Warn("the index is made anew from the stored chunks; until that is done searches see a part of it",
			"namespace", namespace, "documents", len(index.missing), "segments", len(broken))
		err = c.repair(ctx, namespace, index.missing, broken, func(done Applied) error {
			c.skip(map[*space]bool{s: true}, done)
			s.load.Lock()
			defer s.load.Unlock()
			_, err := c.reload(ctx, namespace, s)
			return err
		})
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		c.write.Lock()
		err = c.compact(ctx, namespace)
		c.write.Unlock()
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		c.log.Info("the index is whole again", "namespace", namespace)
	}
	return fmt.Errorf("the index is still incomplete after %d repairs", maxRepairs)
}
