package rerank

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// maxGrade is the best grade that a judge gives.
const maxGrade = 3

// mention is the part of a reply about one passage.
type mention struct {
	id    int // from 1
	value float64
	kind  kind
}

// kind says what the value of a mention is.
type kind uint8

const (
	place kind = iota // no value: only the order counts
	grade             // from 0 to 3
	score             // on a scale that can be told only from all values together
)

// parseGrades reads a judge's reply about n passages: the object that it was asked for, or any of the forms that models give in
// its place, such as {"order":[3,1]}, {"scores":{"1":0.8}}, [3,1] or "[3] > [1]". It drops numbers outside 1 to n and repeated
// mentions of a passage. A passage that is not mentioned comes last, with the score 0.
func parseGrades(reply string, n int) (order []int, scores []float64, err error) {
	mentions, err := readMentions(reply)
	if err != nil {
		return nil, nil, err
	}
	seen := make([]bool, n)
	mentions = slices.DeleteFunc(mentions, func(m mention) bool {
		if m.id < 1 || m.id > n || seen[m.id-1] {
			return true
		}
		seen[m.id-1] = true
		return false
	})
	if len(mentions) == 0 {
		return nil, nil, errors.New("the reply names no passage")
	}
	scores = make([]float64, n)
	top := 0.0
	for _, m := range mentions {
		top = max(top, m.value)
	}
	for i, m := range mentions {
		scores[m.id-1] = m.score(top, i, n)
	}
	// Equal grades stay in the order of the reply, and passages that it does not mention in that of the search.
	for _, m := range mentions {
		order = append(order, m.id-1)
	}
	for i, named := range seen {
		if !named {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order, scores, nil
}

// score returns the value of a mention in [0, 1]. The largest value of the reply tells its scale.
func (m mention) score(top float64, at, n int) float64 {
	scale := 1.0
	switch {
	case m.kind == grade && top <= maxGrade:
		scale = maxGrade
	case m.kind == place:
		return 1 - float64(at)/float64(n)
	case top > 10:
		scale = 100
	case top > maxGrade:
		scale = 10
	case top > 1:
		scale = maxGrade
	}
	return min(max(m.value/scale, 0), 1)
}

// plainList matches a reply that consists of numbers only.
var plainList = lazyregexp.New(`^[\s\[\]().,;>]*\d[\d\s\[\]().,;>]*$`)

var digits = lazyregexp.New(`\d+`)

func readMentions(reply string) ([]mention, error) {
	reply = strings.TrimSpace(reply)
	object, ok := llm.Object(reply)
	if i := strings.IndexByte(reply, '['); i >= 0 && i < strings.IndexByte(reply, '{') {
		ok = false // a list of objects
	}
	switch list, isList := listIn(reply); {
	case ok:
		return readObject(object)
	case plainList.MatchString(reply):
		var all []mention
		for _, number := range digits.FindAllString(reply, -1) {
			id, _ := strconv.Atoi(number) // 0, which is not a passage, if the number is too long
			all = append(all, mention{id: id})
		}
		return all, nil
	case isList:
		return readList([]byte(list))
	}
	return nil, errors.New("the reply has no ranking")
}

// listIn returns the JSON list in a reply.
func listIn(reply string) (string, bool) {
	from, to := strings.IndexByte(reply, '['), strings.LastIndexByte(reply, ']')
	if from < 0 || to < from {
		return "", false
	}
	return reply[from : to+1], true
}

// readObject looks for the ranking under the names that models give it.
func readObject(object string) ([]mention, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		return nil, fmt.Errorf("read the ranking: %w", err)
	}
	for _, name := range []string{"ranking", "results", "passages", "order"} {
		if list := fields[name]; bytes.HasPrefix(bytes.TrimSpace(list), []byte("[")) {
			return readList(list)
		}
	}
	for name, k := range map[string]kind{"grades": grade, "scores": score} {
		if byID := fields[name]; byID != nil {
			return readByID(byID, k)
		}
	}
	return nil, errors.New("the reply has no ranking")
}

// readList reads a list of numbers of passages, or of objects with a number and a grade.
func readList(list []byte) ([]mention, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, fmt.Errorf("read the ranking: %w", err)
	}
	var all []mention
	for _, raw := range items {
		m := mention{id: int(number(raw))}
		var fields struct {
			ID, Index, Passage      json.RawMessage
			Grade, Score, Relevance json.RawMessage
		}
		if json.Unmarshal(raw, &fields) == nil {
			m.id = int(number(first(fields.ID, fields.Index, fields.Passage)))
			if fields.Grade != nil {
				m.value, m.kind = number(fields.Grade), grade
			} else if value := first(fields.Score, fields.Relevance); value != nil {
				m.value, m.kind = number(value), score
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// readByID reads an object with the value of each passage by its number, or a list with the values
// in the order of the passages.
func readByID(raw json.RawMessage, k kind) ([]mention, error) {
	var all []mention
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i, value := range list {
			all = append(all, mention{id: i + 1, value: number(value), kind: k})
		}
		return all, nil
	}
	var byID map[string]json.RawMessage
	if err := json.Unmarshal(raw, &byID); err != nil {
		return nil, fmt.Errorf("read the ranking: %w", err)
	}
	for id, value := range byID {
		all = append(all, mention{id: int(number([]byte(id))), value: number(value), kind: k})
	}
	slices.SortFunc(all, func(a, b mention) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}

func first(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// number reads a number that may stand in quotes and in brackets; 0 for anything else.
func number(raw []byte) float64 {
	v, err := strconv.ParseFloat(strings.Trim(string(raw), `"[] `), 64)
	if err != nil || v != v || v < -1e6 || v > 1e6 {
		return 0
	}
	return v
}
