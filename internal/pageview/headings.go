package pageview

import (
	"bufio"
	"io"
	"regexp"
	"strings"

	"parley/internal/format"
	"parley/internal/retrieval"
)

// Heading is a heading of an original.
type Heading struct {
	Level int // from 1
	Text  string
}

// maxOutline limits the part of an original that is read for its headings, and maxHeadings their number.
const (
	maxOutline  = 4 << 20 // bytes
	maxHeadings = 5000
)

// Headings returns the headings of a Markdown document in their order, with their markup. It returns none for other formats, and
// for an original that is gone.
func (v *Viewer) Headings(d retrieval.Document) ([]Heading, error) {
	if format.ViewOf(d.MediaType) != format.Markdown {
		return nil, nil
	}
	f, err := v.open(d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return headingsOf(io.LimitReader(f, maxOutline))
}

var (
	atxHeading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	underline  = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	fence      = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

func headingsOf(r io.Reader) (all []Heading, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	open, before := "", ""
	for lines.Scan() && len(all) < maxHeadings {
		line := lines.Text()
		if m := fence.FindStringSubmatch(line); m != nil && (open == "" || strings.HasPrefix(m[1], open)) {
			if open == "" {
				open = m[1]
			} else {
				open = ""
			}
			before = ""
			continue
		}
		if open != "" {
			continue
		}
		if m := atxHeading.FindStringSubmatch(line); m != nil {
			all = append(all, Heading{len(m[1]), m[2]})
			line = ""
		} else if m := underline.FindStringSubmatch(line); m != nil && before != "" {
			all = append(all, Heading{1 + strings.Count(m[1][:1], "-"), before})
			line = ""
		}
		before = strings.TrimSpace(line)
	}
	return all, nil // a line that is too long ends the list
}
