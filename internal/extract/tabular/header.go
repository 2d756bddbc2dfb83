package tabular

import (
	"slices"
	"strconv"
	"strings"

	"parley/internal/extract/compose"
)

// IsHeader reports whether a row names columns: it has at least two cells, most of them filled, none
// with a long text, few the same, and no numbers except several years in order.
func IsHeader(cells []string) bool {
	names := map[string]bool{}
	var years []int
	for _, cell := range cells {
		cell = compose.OneLine(cell)
		if len(cell) > 100 {
			return false
		}
		if _, err := strconv.ParseFloat(strings.Trim(cell, "$€£¥% "), 64); err == nil {
			year, err := strconv.Atoi(cell)
			if err != nil || year < 1900 || year > 2100 {
				return false
			}
			years = append(years, year)
		}
		names[cell] = true
	}
	n := Filled(cells)
	if len(years) > 0 && (len(years) == 1 || len(years) == n || !inOrder(years)) {
		return false
	}
	return n >= 2 && n*2 > len(cells) && len(names)*2 > n
}

// inOrder reports whether numbers strictly rise or strictly fall.
func inOrder(numbers []int) bool {
	rise := func(a, b int) int { return a - b }
	fall := func(a, b int) int { return b - a }
	distinct := len(slices.Compact(slices.Sorted(slices.Values(numbers)))) == len(numbers)
	return distinct && (slices.IsSortedFunc(numbers, rise) || slices.IsSortedFunc(numbers, fall))
}

// Filled returns the number of cells that are not blank.
func Filled(cells []string) int {
	n := 0
	for _, cell := range cells {
		if strings.TrimSpace(cell) != "" {
			n++
		}
	}
	return n
}
