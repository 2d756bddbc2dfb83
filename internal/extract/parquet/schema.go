package parquet

import (
	"strings"

	"parley/internal/extract"
	"parley/internal/lazyregexp"
)

// logical is the meaning of the values of a column, or of the members of a group.
type logical struct {
	kind     meaning
	scale    int64 // of decimals: digits after the point
	unit     int64 // of times: units in a second
	utc      bool  // of timestamps
	unsigned bool  // of whole numbers
}

type meaning uint8

const (
	unannotated meaning = iota
	text
	listOrMap
	decimal
	date
	timeOfDay
	timestamp
	uuid
	float16
	interval
	hidden // not readable for people
)

// The physical types.
const (
	boolean = iota
	int32s
	int64s
	int96s
	floats
	doubles
	byteArrays
	fixedBytes
)

// convertedTypes maps ConvertedType of parquet.thrift, the older way to give the meaning of values.
var convertedTypes = []logical{
	{kind: text}, {kind: listOrMap}, {kind: listOrMap}, {kind: listOrMap}, {kind: text}, {kind: decimal}, {kind: date},
	{kind: timeOfDay, unit: 1e3}, {kind: timeOfDay, unit: 1e6}, {kind: timestamp, unit: 1e3, utc: true}, {kind: timestamp, unit: 1e6, utc: true},
	{unsigned: true}, {unsigned: true}, {unsigned: true}, {unsigned: true}, {}, {}, {}, {}, {kind: text}, {kind: hidden}, {kind: interval},
}

// logicalTypes maps the fields of the union LogicalType, the newer way.
var logicalTypes = map[int64]meaning{
	1: text, 2: listOrMap, 3: listOrMap, 4: text, 5: decimal, 6: date, 7: timeOfDay, 8: timestamp, 12: text, 13: hidden, 14: uuid, 15: float16, 16: hidden,
	17: hidden, 18: hidden,
}

func logicalOf(e node) (l logical) {
	if i := e.get(6).n; e.has(6) && i >= 0 && i < int64(len(convertedTypes)) {
		l = convertedTypes[i]
	}
	l.scale = e.get(7).n
	for _, t := range e.get(10).in {
		if l.kind = logicalTypes[t.id]; l.kind == timeOfDay || l.kind == timestamp {
			l.utc = t.get(1).n != 0
			for _, unit := range t.get(2).in {
				l.unit = map[int64]int64{1: 1e3, 2: 1e6, 3: 1e9}[unit.id]
			}
		}
		if t.id == 10 {
			l.unsigned = t.get(2).n == 0
		}
		if l.kind == decimal {
			l.scale = t.get(1).n
		}
	}
	return l
}

// leaf is a column of the table.
type leaf struct {
	path           string // names of the enclosing groups, without those that only form lists, and its own name
	physical       int64  // type of the stored values
	length         int64  // bytes of a value of fixedBytes
	logical        logical
	maxDef, maxRep uint64 // the highest definition and repetition level
	itemDef        uint64 // the lowest definition level at which an item of the innermost list exists
	show           func(raw) string
}

// tree turns the elements of the schema, which are listed depth first, into the columns of the table.
type tree struct {
	elements []node
	leaves   []*leaf
	left     int64 // bytes that the paths may still have
}

// madeUp matches the names that pandas gives to columns of row numbers.
var madeUp = lazyregexp.New(`^__index_level_\d+__$`)

// group adds the columns of the next n elements, which belong to the group above. In a list they have no names of their own.
func (s *tree) group(n int64, above leaf, isList bool, deep int) error {
	const deepest = 100
	for ; n > 0; n-- {
		if len(s.elements) == 0 || deep > deepest {
			return broken()
		}
		e := s.elements[0]
		s.elements = s.elements[1:]
		l := above
		l.physical, l.length, l.logical = e.get(1).n, e.get(2).n, logicalOf(e)
		repeats, children := e.get(3).n, e.get(5).n
		if repeats != 0 { // it is optional or repeated
			l.maxDef++
		}
		if repeats == 2 {
			l.maxRep++
			l.itemDef = l.maxDef
		}
		if name := string(e.get(4).b); !isList && !madeUp.MatchString(name) {
			l.path = strings.TrimPrefix(above.path+"."+name, ".")
		}
		if children > 0 {
			// A list is a group with a repeated group that has the element; a map is one whose repeated group has key and value.
			unnamed := children == 1 && (l.logical.kind == listOrMap || isList && repeats == 2)
			if err := s.group(children, l, unnamed, deep+1); err != nil {
				return err
			}
			continue
		}
		if !e.has(1) {
			continue // a group without members
		}
		if s.left -= int64(len(l.path)) + 2; s.left < 0 {
			return extract.TooLargef("the names of its columns are too long")
		}
		if l.physical < boolean || l.physical > fixedBytes || l.length < 0 || l.length > mostBytes {
			return broken()
		}
		l.show = l.showing()
		s.leaves = append(s.leaves, &l)
	}
	return nil
}
