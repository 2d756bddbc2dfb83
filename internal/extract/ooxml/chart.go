package ooxml

import (
	"context"
	"encoding/xml"
	"strconv"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/extract/numfmt"
	"parley/internal/extract/zipxml"
)

// The bounds of a chart's table.
const (
	chartSeries = 50
	chartPoints = 1000
)

// readChart reads the titles and values of a chart (ECMA-376 part 1, section 21.2).
func readChart(ctx context.Context, archive *zipxml.Archive, name string) (*chartWalker, error) {
	c := &chartWalker{}
	_, err := zipxml.ReadPart(ctx, archive, name, c.visit)
	return c, err
}

// write appends the chart's titles, and its values as a table with a row for each category.
func (c *chartWalker) write(out *compose.Builder) error {
	if title := compose.OneLine(compose.Clean(c.title.String())); title != "" {
		if err := out.Add(extract.Paragraph, 0, "Chart: "+title); err != nil {
			return err
		}
	}
	rows := c.rows()
	if len(rows) < 2 {
		return nil
	}
	return out.AddTable(rows, true)
}

// chartWalker collects the series of a chart from its XML.
type chartWalker struct {
	title  strings.Builder
	series []series
	path   []string // names of the enclosing elements that matter
	point  int
}

// series is one line or set of bars.
type series struct {
	name       string
	categories []string
	values     []string
}

func (c *chartWalker) visit(d *xml.Decoder, token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "title", "tx", "cat", "val", "xVal", "yVal":
			c.path = append(c.path, t.Name.Local)
		case "ser":
			c.series = append(c.series, series{})
		case "pt":
			c.point, _ = strconv.Atoi(zipxml.Attr(t, "idx"))
		case "v":
			var v string
			if err := d.DecodeElement(&v, &t); err != nil {
				return err
			}
			c.value(v)
		default:
			if c.in() == "title" || c.in() == "tx" && len(c.path) > 1 {
				c.title.WriteByte(' ')
				return drawingText(d, t, &c.title)
			}
		}
	case xml.EndElement:
		if n := len(c.path); n > 0 && c.path[n-1] == t.Name.Local {
			c.path = c.path[:n-1]
		}
	}
	return nil
}

func (c *chartWalker) in() string {
	if len(c.path) == 0 {
		return ""
	}
	return c.path[len(c.path)-1]
}

// value sets a value of the current point of the series.
func (c *chartWalker) value(v string) {
	n := len(c.series)
	v = compose.OneLine(compose.Clean(v))
	if len(c.path) > 0 && c.path[0] == "title" {
		c.title.WriteString(" " + v)
		return
	}
	if n == 0 || n > chartSeries || c.point < 0 || c.point >= chartPoints || len(v) > 200 {
		return
	}
	s := &c.series[n-1]
	switch c.in() {
	case "tx":
		s.name = v
	case "cat", "xVal":
		put(&s.categories, c.point, v)
	case "val", "yVal":
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			v = numfmt.Plain(f)
		}
		put(&s.values, c.point, v)
	}
}

func put(list *[]string, i int, v string) {
	for len(*list) <= i {
		*list = append(*list, "")
	}
	(*list)[i] = v
}

// rows returns the chart as a table: a header with the names of the series, a row for each
// category.
func (c *chartWalker) rows() [][]string {
	header := []string{"Category"}
	var categories []string
	points := 0
	for i, s := range c.series[:min(len(c.series), chartSeries)] {
		if s.name == "" {
			s.name = "Series " + strconv.Itoa(i+1)
		}
		header = append(header, s.name)
		if len(s.categories) > len(categories) {
			categories = s.categories
		}
		points = max(points, len(s.values))
	}
	rows := [][]string{header}
	for i := range points {
		row := make([]string, len(header))
		if row[0] = strconv.Itoa(i + 1); i < len(categories) && categories[i] != "" {
			row[0] = categories[i]
		}
		for k := range len(header) - 1 {
			if values := c.series[k].values; i < len(values) {
				row[k+1] = values[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}
