package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/internal/shelf"
)

// ItemStore is library.Items.
type ItemStore interface {
	Item(ctx context.Context, key shelf.Key) (shelf.Item, error)
	Items(ctx context.Context, list shelf.List) ([]shelf.Item, error)
	Count(ctx context.Context, list shelf.List) (map[string]shelf.Tally, error)
	Parents(ctx context.Context, owner, file string) ([]string, error)
	Save(ctx context.Context, key shelf.Key, change func(i *shelf.Item, found bool) error) (shelf.Item, error)
	Delete(ctx context.Context, key shelf.Key) error
}

// Shelf tests a library.Items.
func Shelf(t *testing.T, open func(t *testing.T) ItemStore) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, shelves)
	}{
		{"a saved item comes back", testItemRoundTrip},
		{"an item belongs to its owner, kind and parent", testItemKeys},
		{"items are listed, and a list goes on where it stopped", testItemList},
		{"items are counted by their states", testItemCount},
		{"a store goes with what is in it", testItemDelete},
		{"a change that fails changes nothing", testItemFailingChange},
		{"changes at the same time lose nothing", testItemRace},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, shelves{tester{t}, open(t)}) })
	}
}

type shelves struct {
	tester
	ItemStore
}

func (s shelves) put(want shelf.Item) shelf.Item {
	s.Helper()
	got, err := s.Save(s.Context(), want.Key, func(i *shelf.Item, _ bool) error {
		*i = want
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// aMember returns the n-th file of a store; two have the same time.
func aMember(store string, n int) shelf.Item {
	return shelf.Item{
		Key:   shelf.Key{Kind: shelf.Members, Owner: "alice", Parent: store, ID: fmt.Sprintf("file-%d", n)},
		Group: fmt.Sprintf("batch-%d", n%2), State: []string{"completed", "failed", "in_progress"}[n%3], Size: int64(n),
		CreatedAt: started.Add(time.Duration(n/2) * time.Microsecond), Body: json.RawMessage(`{"ü":"\u0001"}`),
	}
}

func testItemRoundTrip(_ *testing.T, s shelves) {
	want := aMember("vs_1", 1)
	s.equal("what was saved", want, s.put(want))
	got, err := s.Item(s.Context(), want.Key)
	if err != nil {
		s.Fatal(err)
	}
	s.equal("what is stored", want, got)
	want.State, want.Group, want.Size, want.Body = "failed", "", 8, json.RawMessage(`{}`)
	_, err = s.Save(s.Context(), want.Key, func(i *shelf.Item, found bool) error {
		s.equal("what is to be changed", got, *i)
		if !found {
			s.Error("the item is not found")
		}
		*i = want
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	if got, err = s.Item(s.Context(), want.Key); err != nil {
		s.Fatal(err)
	}
	s.equal("what was changed", want, got)
}

func testItemKeys(_ *testing.T, s shelves) {
	own := s.put(aMember("vs_1", 1))
	for _, change := range []func(*shelf.Key){
		func(k *shelf.Key) { k.Owner = "" }, func(k *shelf.Key) { k.Kind = shelf.Files },
		func(k *shelf.Key) { k.Parent = "vs_2" }, func(k *shelf.Key) { k.ID = "file-2" },
	} {
		other := own.Key
		change(&other)
		if _, err := s.Item(s.Context(), other); !errors.Is(err, shelf.ErrNotFound) {
			s.Errorf("%+v: %v", other, err)
		}
		if err := s.Delete(s.Context(), other); !errors.Is(err, shelf.ErrNotFound) {
			s.Errorf("delete %+v: %v", other, err)
		}
		item := own
		item.Key, item.State = other, "cancelled"
		s.put(item)
	}
	got, err := s.Item(s.Context(), own.Key)
	if err != nil {
		s.Fatal(err)
	}
	s.equal("an item beside others with much the same key", own, got)
	parents, err := s.Parents(s.Context(), "alice", "file-1")
	if err != nil {
		s.Fatal(err)
	}
	s.equal("the stores of a file", []string{"vs_1", "vs_2"}, parents)
}

func (s shelves) ids(list shelf.List) []string {
	s.Helper()
	list.Kind, list.Owner, list.Parent = shelf.Members, "alice", "vs_1"
	all, err := s.Items(s.Context(), list)
	if err != nil {
		s.Fatalf("%+v: %v", list, err)
	}
	var ids []string
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

func testItemList(_ *testing.T, s shelves) {
	for n := range 6 {
		s.put(aMember("vs_1", n))
		s.put(aMember("vs_2", n))
	}
	for _, c := range []struct {
		list shelf.List
		want []string
	}{
		{shelf.List{}, []string{"file-5", "file-4", "file-3", "file-2", "file-1", "file-0"}},
		{shelf.List{Oldest: true, Limit: 2}, []string{"file-0", "file-1"}},
		{shelf.List{Oldest: true, After: "file-1", Limit: 2}, []string{"file-2", "file-3"}},
		{shelf.List{Oldest: true, After: "file-1", Before: "file-4"}, []string{"file-2", "file-3"}},
		{shelf.List{After: "file-4", Limit: 2}, []string{"file-3", "file-2"}},
		{shelf.List{Before: "file-4"}, []string{"file-5"}},
		{shelf.List{Group: "batch-1"}, []string{"file-5", "file-3", "file-1"}},
		{shelf.List{State: "failed"}, []string{"file-4", "file-1"}},
		{shelf.List{State: "failed", Group: "batch-1"}, []string{"file-1"}},
		{shelf.List{After: "file-0"}, nil},
	} {
		s.equal(fmt.Sprintf("%+v", c.list), c.want, s.ids(c.list))
	}
	for _, list := range []shelf.List{{After: "none"}, {Before: "none"}} {
		list.Kind, list.Owner, list.Parent = shelf.Members, "alice", "vs_1"
		if _, err := s.Items(s.Context(), list); !errors.Is(err, shelf.ErrNotFound) {
			s.Errorf("%+v: %v", list, err)
		}
	}
}

func testItemCount(_ *testing.T, s shelves) {
	for n := range 6 {
		s.put(aMember("vs_1", n))
	}
	for _, c := range []struct {
		list shelf.List
		want map[string]shelf.Tally
	}{
		{shelf.List{}, map[string]shelf.Tally{"completed": {N: 2, Size: 3}, "failed": {N: 2, Size: 5}, "in_progress": {N: 2, Size: 7}}},
		{shelf.List{Group: "batch-1"}, map[string]shelf.Tally{"completed": {N: 1, Size: 3}, "failed": {N: 1, Size: 1}, "in_progress": {N: 1, Size: 5}}},
		{shelf.List{State: "failed"}, map[string]shelf.Tally{"failed": {N: 2, Size: 5}}},
	} {
		c.list.Kind, c.list.Owner, c.list.Parent = shelf.Members, "alice", "vs_1"
		got, err := s.Count(s.Context(), c.list)
		if err != nil {
			s.Fatal(err)
		}
		s.equal(fmt.Sprintf("%+v", c.list), c.want, got)
	}
}

func testItemDelete(_ *testing.T, s shelves) {
	store := shelf.Item{Key: shelf.Key{Kind: shelf.Stores, Owner: "alice", ID: "vs_1"}, CreatedAt: started}
	s.put(store)
	s.put(aMember("vs_1", 1))
	other := s.put(aMember("vs_2", 1))
	batch := aMember("vs_1", 2)
	batch.Kind = shelf.Batches
	s.put(batch)
	if err := s.Delete(s.Context(), store.Key); err != nil {
		s.Fatal(err)
	}
	for _, key := range []shelf.Key{store.Key, aMember("vs_1", 1).Key, batch.Key} {
		if _, err := s.Item(s.Context(), key); !errors.Is(err, shelf.ErrNotFound) {
			s.Errorf("%+v: %v", key, err)
		}
	}
	if _, err := s.Item(s.Context(), other.Key); err != nil {
		s.Errorf("the file of another store: %v", err)
	}
}

func testItemFailingChange(_ *testing.T, s shelves) {
	want := s.put(aMember("vs_1", 1))
	mistake := errors.New("no")
	_, err := s.Save(s.Context(), want.Key, func(i *shelf.Item, _ bool) error {
		i.State = "failed"
		return mistake
	})
	if !errors.Is(err, mistake) {
		s.Errorf("Save returns %v", err)
	}
	got, err := s.Item(s.Context(), want.Key)
	if err != nil {
		s.Fatal(err)
	}
	s.equal("the item", want, got)
}

func testItemRace(t *testing.T, s shelves) {
	key := shelf.Key{Kind: shelf.Files, Owner: "alice", ID: "f"}
	race(func(int) {
		_, err := s.Save(t.Context(), key, func(i *shelf.Item, _ bool) error { i.Size++; return nil })
		if err != nil {
			t.Errorf("Save: %v", err)
		}
	})
	got, err := s.Item(t.Context(), key)
	if err != nil || got.Size != racers {
		t.Errorf("%d of %d changes were kept: %v", got.Size, racers, err)
	}
}
