package markup

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/text"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var _ = extract.Register("Jupyter notebook", extract.Reader{Read: readNotebook})

// maxOutput is the maximum number of bytes of a cell's output that are read.
const maxOutput = 1000

// notebook holds the parts of a notebook (nbformat 3 and 4) that are read.
type notebook struct {
	Format     int                      `json:"nbformat"`
	Cells      []cell                   `json:"cells"`
	Worksheets []struct{ Cells []cell } `json:"worksheets"` // of format 3
}

type cell struct {
	Type    string `json:"cell_type"`
	Source  lines  `json:"source"`
	Input   lines  `json:"input"` // of format 3
	Level   int    `json:"level"`
	Outputs []struct {
		Text lines           `json:"text"`
		Data map[string]any  `json:"data"`
		Name string          `json:"ename"`
		Why  json.RawMessage `json:"evalue"`
	} `json:"outputs"`
}

// lines is a text that JSON gives as a string or as a list of lines.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("read the lines of a cell: %w", err)
	}
	*l = lines(strings.Join(many, ""))
	return nil
}

// readNotebook reads the cells of a notebook in order: text as Markdown, code, and the beginning of the output of the
// code.
func readNotebook(ctx context.Context, f *extract.File) (*extract.Document, error) {
	data, err := f.All(f.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, extract.Damagedf("the file is not a notebook in JSON")
	}
	cells := n.Cells
	for _, sheet := range n.Worksheets {
		cells = append(cells, sheet.Cells...)
	}
	w := markdownWalker{out: compose.Builder{Budget: compose.NewBudget(f.Limits)}}
	for _, c := range cells {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.cell(c); err != nil {
			return nil, err
		}
	}
	return &extract.Document{Pages: []extract.Page{w.out.Page(0, false)}}, nil
}

func (w *markdownWalker) cell(c cell) error {
	source := compose.Clean(string(c.Source + c.Input))
	switch c.Type {
	case "markdown":
		w.source = []byte(source)
		return w.blocks(markdownParser().Parse(text.NewReader(w.source)))
	case "heading":
		return w.out.Add(extract.Heading, min(max(c.Level, 1), 6), compose.OneLine(source))
	case "code":
		if err := w.out.Add(extract.Code, 0, source); err != nil {
			return err
		}
		return w.outputs(c)
	}
	return w.out.Add(extract.Paragraph, 0, source)
}

// outputs adds the beginning of a cell's output. It leaves out pictures and HTML, since the notebook also has them as text.
func (w *markdownWalker) outputs(c cell) error {
	var b strings.Builder
	for _, o := range c.Outputs {
		b.WriteString(string(o.Text))
		switch plain := o.Data["text/plain"].(type) {
		case string:
			b.WriteString(plain + "\n")
		case []any:
			for _, line := range plain {
				if line, ok := line.(string); ok {
					b.WriteString(line)
				}
			}
			b.WriteString("\n")
		}
		if o.Name != "" {
			b.WriteString(o.Name + ": " + strings.Trim(string(o.Why), `"`) + "\n")
		}
		if b.Len() > maxOutput {
			break
		}
	}
	printed := b.String()
	if len(printed) > maxOutput {
		cut := maxOutput
		for !utf8.RuneStart(printed[cut]) {
			cut--
		}
		printed = printed[:cut] + "…"
	}
	return w.out.Add(extract.Code, 0, compose.Clean(printed))
}
