package attribute_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"parley/internal/attribute"
)

func read(t *testing.T, text string) (attribute.Values, string) {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return attribute.FromYAML(n.Content[0], func(key string) bool { return key == "title" })
}

func TestFromYAML_ReadsValuesAsTheyAreMeant(t *testing.T) {
	got, left := read(t, `
title: left out
base: &base {kind: note}
text: " a policy "
quoted: "5"
number: 5.5
version: 1.10
code: 007
exact: 1.1
huge: 12345678901234567891
hex: 0x10
yes: true
date: 2026-11-29
at: 2026-11-29T10:00:00Z
none: null
empty: ""
tags: [a, 2, false]
author: {name: Ada, address: {city: London}}
copy: *base
<<: *base
`)
	want := attribute.Values{
		"base.kind": "note", "text": "a policy", "quoted": "5", "number": 5.5, "version": "1.10", "code": "007", "exact": 1.1, "huge": "12345678901234567891", "hex": 16.0, "yes": true, "date": "2026-11-29", "at": "2026-11-29T10:00:00Z",
		"tags": []any{"a", 2.0, false}, "author.name": "Ada", "author.address.city": "London", "copy.kind": "note", "kind": "note",
	}
	if diff := cmp.Diff(want, got); diff != "" || left != "empty" {
		t.Errorf("left %q (-want +got):\n%s", left, diff)
	}
	if diff := cmp.Diff(want, attribute.Decode(got.Encode())); diff != "" {
		t.Errorf("encoded and decoded (-want +got):\n%s", diff)
	}
	if raw := (attribute.Values{}).Encode(); raw != nil {
		t.Errorf("no attributes are %s", raw)
	}
}

// A hostile document costs no more than the limits allow.
func TestFromYAML_LeavesOutWhatIsBeyondTheLimits(t *testing.T) {
	many := ""
	for i := range attribute.MaxKeys + 10 {
		many += fmt.Sprintf("key%d: 1\n", i)
	}
	heavy := "a: &a [" + strings.Repeat(strings.Repeat("x", 500)+", ", 30) + "]\nb: *a\n"
	bomb := "a: &a {k: 1}\n"
	for c := byte('b'); c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c {%s}\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("x%%d: *%c, ", c-1), 1), ", "))
	}
	for name, text := range map[string]string{
		"many keys": many, "a long key": strings.Repeat("k", attribute.MaxKey+1) + ": 1", "a long text": "k: " + strings.Repeat("x", attribute.MaxText+1),
		"a long list": "k: [" + strings.Repeat("1,", attribute.MaxList+1) + "]", "a list of lists": "k: [[1]]", "infinity": "k: .inf", "no number": "k: .nan",
		"many bytes by aliases": heavy, "depth": "a: {b: {c: {d: {e: {f: {g: 1}}}}}}", "aliases in aliases": bomb,
	} {
		got, left := read(t, text)
		if len(got) > attribute.MaxKeys || left == "" || len(got.Encode()) > 2*attribute.MaxBytes {
			t.Errorf("%s: %d keys, left %q", name, len(got), left)
		}
	}
}

func TestBounded_KeepsWhatADocumentMayHave(t *testing.T) {
	v := attribute.Values{"z": 1.0}
	for i := range attribute.MaxKeys {
		v[fmt.Sprintf("key%02d", i)] = "x"
	}
	if got := v.Bounded(); len(got) != attribute.MaxKeys || got["z"] != nil {
		t.Errorf("%d keys", len(got))
	}
	v = attribute.Values{"a": strings.Repeat("x", attribute.MaxBytes/2), "b": strings.Repeat("x", attribute.MaxBytes), "c": "x"}
	if got := v.Bounded(); len(got) != 1 || got["a"] == nil {
		t.Errorf("%d keys", len(got))
	}
}

func TestCondition_NamesItselfSoThatNoOtherHasItsName(t *testing.T) {
	seen := map[string]int{}
	for i, c := range []*attribute.Condition{
		nil, attribute.Compare("eq", "a", "1"), attribute.Compare("eq", "a", 1.0), attribute.Compare("eq", "a", true), attribute.Compare("gt", "a", 1.0),
		attribute.Compare("ne", "a", 1.0), attribute.In("a", []any{"1"}), attribute.In("a", nil), attribute.Compare("eq", `a","1`, "1"),
		attribute.All(attribute.Compare("eq", "a", "1"), attribute.Compare("eq", "b", "1")), attribute.Any(attribute.Compare("eq", "a", "1"), attribute.Compare("eq", "b", "1")),
		attribute.Any(attribute.Compare("eq", "a", "1")), attribute.Not(attribute.Compare("lt", "a", "1")),
	} {
		if before, ok := seen[c.String()]; ok {
			t.Errorf("%d and %d are both %q", before, i, c)
		}
		seen[c.String()] = i
	}
	if attribute.All(nil, nil) != nil || !attribute.All().Holds(nil) {
		t.Error("no conditions do not hold for everything")
	}
}
