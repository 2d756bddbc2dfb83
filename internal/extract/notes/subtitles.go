package notes

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"parley/internal/extract"
	"parley/internal/extract/compose"
	"parley/internal/lazyregexp"
)

var _ = extract.Register("subtitles", extract.Reader{Read: readSubtitles})

// readSubtitles reads WebVTT, SubRip and SubViewer. Each minute of the film is a page, so that citations give the time:
// page 1 begins at 0:00:00, page 2 at 0:01:00.
func readSubtitles(ctx context.Context, f *extract.File) (*extract.Document, error) {
	text, err := compose.ReadText(f, f.Limits.TextBytes)
	if err != nil {
		return nil, err
	}
	s := subtitles{budget: compose.NewBudget(f.Limits), maxPages: f.Limits.Pages, doc: &extract.Document{Title: nameTitle(f.Name)}}
	for block := range strings.SplitSeq(text, "\n\n") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.cue(strings.Split(strings.TrimSpace(block), "\n")); err != nil {
			return nil, err
		}
	}
	return s.doc, s.end()
}

type subtitles struct {
	doc      *extract.Document
	budget   *compose.Budget
	maxPages int
	out      *compose.Builder // of the current page
	minute   int
	p        paragraph
	speaker  string
	last     string // line of text
}

var (
	cueTimes = lazyregexp.New(`^(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}(?:\s+-->\s|,\d{1,3}:\d{2}:\d{2}[.,]\d{1,3}$)`)
	cueTag   = lazyregexp.New(`<[^<>]*>|\{\\[^{}]*\}`)
	cueVoice = lazyregexp.New(`<v(?:\.[^\s<>]*)?\s+([^<>]+)>`)
	// notCues are the first words of WebVTT blocks that players do not show.
	notCues = lazyregexp.New(`^(?:WEBVTT|NOTE|STYLE|REGION|X-TIMESTAMP-MAP)(?:\s|=|$)`)
)

// cue adds the lines of one block of the file. A block without times continues the one before.
func (s *subtitles) cue(lines []string) error {
	minute, times := s.minute, -1
	for i, line := range lines {
		m := cueTimes.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		hours, _ := strconv.Atoi(m[1]) // there may be none
		minutes, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		minute, times = hours*60+minutes, i
		break
	}
	if times < 0 && notCues.MatchString(lines[0]) {
		return nil
	}
	if err := s.turn(minute); err != nil {
		return err
	}
	for _, line := range lines[times+1:] {
		if err := s.line(line); err != nil {
			return err
		}
	}
	return nil
}

// turn begins the page of a minute, unless the last sentence of the current page continues.
func (s *subtitles) turn(minute int) error {
	ended := strings.HasSuffix(s.last, ".") || strings.HasSuffix(s.last, "?") || strings.HasSuffix(s.last, "!")
	if s.out != nil && (minute <= s.minute || minute == s.minute+1 && !ended && s.last != "") {
		return nil
	}
	if err := s.end(); err != nil {
		return err
	}
	if minute >= s.maxPages {
		return extract.TooLargef("it goes on after %d minutes", s.maxPages)
	}
	s.minute = minute
	s.out = &compose.Builder{Budget: s.budget}
	s.p = paragraph{out: s.out}
	return nil
}

// end writes the page of the current minute, if anything was said in it.
func (s *subtitles) end() error {
	if s.out == nil {
		return nil
	}
	if err := s.p.flush(); err != nil {
		return err
	}
	if len(s.out.Blocks) > 0 {
		s.doc.Pages = append(s.doc.Pages, s.out.Page(s.minute+1, false))
	}
	return nil
}

// line adds a line of a cue, unless it repeats the last one: rolling captions show each line twice.
func (s *subtitles) line(line string) error {
	speaker := ""
	if m := cueVoice.FindStringSubmatch(line); m != nil {
		speaker = m[1]
	}
	text := compose.OneLine(compose.Clean(html.UnescapeString(cueTag.ReplaceAllString(strings.ReplaceAll(line, "[br]", " "), ""))))
	if text == "" || text == s.last {
		return nil
	}
	if len(s.out.Blocks) == 0 && s.p.text.Len() == 0 {
		if err := s.p.heading(1, fmt.Sprintf("%d:%02d:00", s.minute/60, s.minute%60)); err != nil {
			return err
		}
	}
	if speaker != "" && speaker != s.speaker || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, ">> ") {
		if err := s.p.flush(); err != nil {
			return err
		}
		if s.speaker = speaker; speaker != "" {
			s.p.add(speaker + ":")
		}
	}
	s.last = text
	s.p.add(text)
	return nil
}
