package ocr

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/internal/extract"
	"parley/internal/ocr/ocrtest"
	"parley/test/needs"
)

var shared = sync.OnceValues(func() (*Reader, error) { return New(context.Background(), Options{CacheDir: needs.ParserCache()}) })

// reader returns a Reader that all tests share, since compiling Tesseract takes seconds. They must not run in parallel.
func reader(t testing.TB) *Reader {
	t.Helper()
	r, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var known = []string{
	"The deductible of the Standard plan is $2,000 a year. After that, the plan",
	"pays 80% of the cost of a visit to a doctor in the network, and members",
	"pay the other 20% until they reach the limit of $6,500. Visits outside of",
	"the network are covered at 60%. Claims must arrive within 90 days of the",
	"treatment; send them to claims@example.org or to P.O. Box 1447, Bonn.",
}

func wordsOf(words []Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

// distance is the number of characters to change in a to get b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

func TestWords_ReadsWhatIsWritten_AndSaysWhere(t *testing.T) {
	picture := ocrtest.Picture(t, 2000, 500, .05, ocrtest.Paragraph(120, 120, known...)...)
	words, err := reader(t).Words(t.Context(), picture, 300)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(known, " ")
	if got := wordsOf(words); distance(want, got)*100 > len(want) {
		t.Errorf("more than one character in a hundred is wrong:\n%s", got)
	}
	for _, w := range words {
		if w.Text == "deductible" && (w.Box.Min.X < 180 || w.Box.Max.X > 450 || w.Box.Min.Y < 60 || w.Box.Max.Y > 140) {
			t.Errorf("it stands at %v", w.Box)
		}
		if w.Confidence < 50 || w.Box.Empty() {
			t.Errorf("%+v", w)
		}
	}
}

// The program and the data are Debian's tesseract in another form. They must not make more mistakes than the original.
func TestWords_AreReadAsWellAsByTheProgramOfTheSystem(t *testing.T) {
	native, err := exec.LookPath("tesseract")
	if err != nil {
		needs.Missing(t, "tesseract (tesseract-ocr) is not installed")
	}
	picture := ocrtest.Picture(t, 2000, 500, .25, ocrtest.Paragraph(120, 120, known...)...)
	words, err := reader(t).Words(t.Context(), picture, 300)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.png")
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), native, file, "-", "--dpi", "300", "--oem", "1", "-l", "eng").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(known, " ")
	ours, theirs := distance(want, wordsOf(words)), distance(want, strings.Join(strings.Fields(string(out)), " "))
	t.Logf("wrong characters of %d: ours %d, theirs %d", len(want), ours, theirs)
	if float64(ours) > 1.1*float64(theirs)+2 {
		t.Errorf("%d characters are wrong; the system's program gets %d wrong", ours, theirs)
	}
}

func TestWords_ReadsColumnsOneAfterTheOther(t *testing.T) {
	var lines []ocrtest.Line
	var left, right []string
	for i, text := range slices.Concat(known, known) {
		left, right = append(left, text[:34]), append(right, text[34:])
		lines = append(lines, ocrtest.Line{Text: text[:34], X: 100, Y: 120 + 62*i, Size: 11}, ocrtest.Line{Text: text[34:], X: 1100, Y: 120 + 62*i, Size: 11})
	}
	words, err := reader(t).Words(t.Context(), ocrtest.Picture(t, 2100, 800, 0, lines...), 300)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(append(left, right...), " ")
	if got := wordsOf(words); distance(want, got)*20 > len(want) {
		t.Errorf("%s", got)
	}
}

func TestWords_OfAPictureWithoutText(t *testing.T) {
	for name, size := range map[string]image.Point{"white": {600, 400}, "a dot": {1, 1}, "a line": {3000, 2}} {
		words, err := reader(t).Words(t.Context(), ocrtest.Picture(t, size.X, size.Y, 0), 0)
		if err != nil || len(words) != 0 {
			t.Errorf("%s: %v, %v", name, words, err)
		}
	}
}

func TestWords_EndsWithItsContextAndReadsOn(t *testing.T) {
	r := reader(t)
	picture := ocrtest.Picture(t, 2000, 500, 0, ocrtest.Paragraph(120, 120, known...)...)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := r.Words(ended, picture, 300); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if words, err := r.Words(t.Context(), picture.SubImage(image.Rect(100, 60, 2000, 140)).(*image.Gray), 300); err != nil || !strings.Contains(wordsOf(words), "deductible") {
		t.Errorf("the next picture: %v, %v", words, err)
	}
}

func TestWords_SaysThatThereIsTooLittleMemory(t *testing.T) {
	r, err := New(t.Context(), Options{Memory: 24 << 20, CacheDir: needs.ParserCache()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Words(t.Context(), ocrtest.Picture(t, 3000, 3000, 0), 300); !errors.Is(err, ErrMemory) {
		t.Errorf("%v", err)
	}
}

func TestNew_SaysWhichLanguageIsMissing(t *testing.T) {
	for _, language := range []string{"deu", "../../etc/passwd", ""} {
		if _, err := New(t.Context(), Options{Languages: []string{English, language}, Data: t.TempDir()}); err == nil {
			t.Errorf("%q is taken for a language that can be read", language)
		}
	}
}

func TestCompose_MakesHeadingsListsAndRows(t *testing.T) {
	y := 0
	row := func(paragraph, height int, words ...any) (out []Word) {
		y += 3 * height
		x := 100
		for _, w := range words {
			if gap, ok := w.(int); ok {
				x += gap
				continue
			}
			text := w.(string)
			out = append(out, Word{Text: text, Box: image.Rect(x, y, x+20*len(text), y+height), Confidence: 95, Block: 1, Paragraph: paragraph, Line: y})
			x += 20*len(text) + 15
		}
		return out
	}
	var words []Word
	for _, r := range [][]Word{
		row(1, 60, "Travel", "policy"),
		row(2, 30, "Book", "travel", "early;", "reim-"), row(2, 30, "bursement", "takes", "ten", "days."),
		row(3, 30, "e", 30, "Hotels"), row(3, 30, "•", 30, "Trains"),
		row(4, 30, "Total", 400, "12.00"),
	} {
		words = append(words, r...)
	}
	words = append(words, row(4, 30, "Then", "ask.")...)
	noise := row(5, 30, "~|", "iH")
	noise[0].Confidence, noise[1].Confidence = 30, 40
	page, err := Compose(append(words, noise...), image.Pt(2000, 2000), 7)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range page.Blocks {
		kind := map[extract.Kind]string{extract.Paragraph: "P", extract.Heading: "H", extract.ListItem: "L", extract.TableRow: "T"}[b.Kind]
		got = append(got, kind+" "+page.Text[b.Start:b.End])
	}
	want := "H Travel policy|P Book travel early; reimbursement takes ten days.|L • Hotels|L • Trains|T Total | 12.00|P Then ask."
	if strings.Join(got, "|") != want || page.Number != 7 {
		t.Errorf("page %d: %q", page.Number, got)
	}
	at := strings.Index(page.Text, "reimbursement")
	if boxes := page.BoxesOf(at, at+len("reimbursement")); len(boxes) != 2 || boxes[0].Y >= boxes[1].Y {
		t.Errorf("a divided word has the boxes %+v", boxes)
	}
	if boxes := page.BoxesOf(strings.Index(page.Text, "ten days"), len(page.Text)); len(boxes) != 6 {
		t.Errorf("the rest of the page has %d boxes: %+v", len(boxes), boxes)
	}
}

// Tesseract takes a heading, its paragraph, a list and what comes after it for one paragraph where they have one edge.
func TestCompose_DividesWhatTesseractTakesForOneParagraph(t *testing.T) {
	var words []Word
	set := func(y, height int, at []int, texts ...string) {
		for i, text := range texts {
			words = append(words, Word{Text: text, Box: image.Rect(at[i], y-height, at[i]+15*len(text), y), Confidence: 95, Block: 1, Paragraph: 1, Line: y})
		}
	}
	set(100, 50, []int{100}, "Lessons")
	set(160, 30, []int{100, 200}, "Some", "lessons")
	set(210, 30, []int{100, 200}, "are", "covered:")
	set(260, 30, []int{130, 190}, "e", "Skiing,")
	set(310, 30, []int{190, 300}, "also", "alone")
	set(360, 30, []int{130, 190}, "e", "Surfing")
	set(410, 30, []int{100, 200}, "Others", "cost.")
	set(510, 30, []int{100, 160}, "Ask", "us.")
	words[12].Confidence = 5 // one bad word does not cost a line
	page, err := Compose(words, image.Pt(1000, 1000), 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range page.Blocks {
		got = append(got, page.Text[b.Start:b.End])
	}
	want := []string{"Lessons", "Some lessons are covered:", "• Skiing, also alone", "• Surfing", "Others cost.", "Ask us."}
	if !slices.Equal(got, want) || page.Blocks[0].Kind != extract.Heading {
		t.Errorf("%q", got)
	}
}

// sheet makes words of lines that stand at left edges, in one block for each column.
func sheet(step int, columns map[int][]string) (words []Word) {
	block := 0
	for _, x := range slices.Sorted(maps.Keys(columns)) {
		block++
		for i, text := range columns[x] {
			at := x
			for _, w := range strings.Fields(text) {
				words = append(words, Word{Text: w, Box: image.Rect(at, 100+i*step, at+12*len(w), 130+i*step), Confidence: 95, Block: block, Paragraph: 1, Line: i + 1})
				at += 12*len(w) + 12
			}
		}
	}
	return words
}

func TestCompose_TellsTablesFromColumnsOfText(t *testing.T) {
	prose := []string{"Employees who travel must keep", "the receipts of all hotels and", "hand them in within ten days", "of their return to the office."}
	more := []string{"Meals are paid up to a limit of", "forty euros a day, and drinks", "are not paid at all. Ask your", "manager before you travel far."}
	for name, c := range map[string]struct {
		words []Word
		want  string
	}{
		"a table": {sheet(60, map[int][]string{100: {"Hotel", "Train to Bonn", "Meals"}, 700: {"80.00", "120.50", "40.00"}, 1200: {"EUR", "USD", "EUR"}}),
			"Hotel | 80.00 | EUR\nTrain to Bonn | 120.50 | USD\nMeals | 40.00 | EUR"},
		"a table whose last cell is empty": {sheet(60, map[int][]string{100: {"Hotel", "Train", "Bus", "Meals", "Tips", "Taxi"}, 700: {"80.00", "120.50", "9.10", "40.00", "3.00"}}),
			"Hotel | 80.00\nTrain | 120.50\nBus | 9.10\nMeals | 40.00\nTips | 3.00\nTaxi"},
		"columns of text": {sheet(60, map[int][]string{100: prose, 900: more}), strings.Join(prose, " ") + "\n" + strings.Join(more, " ")},
	} {
		page, err := Compose(c.words, image.Pt(2000, 2000), 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range page.Blocks {
			got = append(got, page.Text[b.Start:b.End])
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q", name, got)
		}
		for i := range page.Boxes {
			if i > 0 && page.Boxes[i].Char <= page.Boxes[i-1].Char {
				t.Errorf("%s: box %d is of character %d", name, i, page.Boxes[i].Char)
			}
		}
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("5\t1\t1\t1\t1\t1\t36\t92\t60\t24\t96.4\tHello\n5\t1\t1\t1\t1\t2\t110\t92\t60\t24\t90\tworld-\n5\t1\t1\t1\t2\t1\t36\t130\t60\t24\t90\twide\n", 600, 400)
	f.Add("4\t1\n5\t1\t1\t1\t1\t1\t-1\t1048577\t0\t0\tNaN\tx\n5\t0\t0\t0\t0\t0\t9\t9\t0\t0\t99\t\xff e\xcc\x81\n", 1, 0)
	f.Fuzz(func(t *testing.T, table string, width, height int) {
		page, err := Compose(ParseTSV(table), image.Pt(width, height), 1)
		if err != nil {
			return
		}
		end, char := 0, -1
		for _, b := range page.Blocks {
			if b.Start < end || b.End < b.Start || b.End > len(page.Text) {
				t.Fatalf("block %+v of %d bytes, behind %d", b, len(page.Text), end)
			}
			end = b.End
		}
		for _, b := range page.Boxes {
			if b.Char <= char || !(b.Box.X >= 0 && b.Box.Y >= 0 && b.Box.X+b.Box.Width <= 1.001 && b.Box.Y+b.Box.Height <= 1.001) {
				t.Fatalf("box %+v behind %d", b, char)
			}
			char = b.Char
		}
		page.BoxesOf(0, len(page.Text))
	})
}

// BenchmarkWords reads a page of 45 lines; the figure is pages a minute.
func BenchmarkWords(b *testing.B) {
	var lines []string
	for i := range 45 {
		lines = append(lines, known[i%len(known)])
	}
	picture := ocrtest.Picture(b, 2480, 3508, .02, ocrtest.Paragraph(250, 300, lines...)...)
	r := reader(b)
	if _, err := r.Words(b.Context(), picture, 300); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Words(b.Context(), picture, 300); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(60/(b.Elapsed().Seconds()/float64(b.N)), "pages/min")
}
