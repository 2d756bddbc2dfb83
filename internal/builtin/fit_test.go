package builtin

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/extract/sandbox"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

var (
	fit         = flag.Bool("fit", false, "fit the weights of the answerer to the development half of test/answers, and print them")
	development = flag.String("answers", filepath.Join("..", "..", "test", "answers", "dev"), "folder of the corpora to fit to")
	kept        = flag.String("kept", "", "file that keeps what the searches found, so that fitting again is quick")
	leaveOut    = flag.Bool("without", false, "also fit without each feature")
	lossesOnly  = flag.Bool("losses", false, "only print where answers are lost")
	chanceOnly  = flag.Bool("chance", false, "only fit how sure it is that the best block answers")
	reading     = flag.Bool("reading", false, "with the built-in reader")
	vectors     = flag.Bool("vectors", false, "with vectors of the built-in embedder beside the words")
	pairsFile   = flag.String("pairs", "", "with -reading: only write what the reader reads, for test/encoderweights/train.py, to this file")
	only        = flag.String("only", "", "only questions in English (en), or only others (other)")
)

// example is a question with the blocks among which the answerer chooses.
type example struct {
	corpus, question string
	kind             string // of answer
	facts, not       []string
	answerable       bool
	ev               *llm.Evidence
	need             need
	units            []unit
	right            []float64 // share of the facts that each block holds; 0 for one that misleads
}

// TestFit prints weights for blockWeights and for minChance, with what they give on each corpus when they are
// fitted to the others, and what is lost without each feature:
//
//	go test ./internal/builtin -run TestFit -fit [-reading] -v
func TestFit(t *testing.T) {
	if !*fit {
		t.Skip("fits only with -fit")
	}
	folders, _ := filepath.Glob(filepath.Join(*development, "*", "facts.jsonl"))
	var all []example
	if data, err := os.ReadFile(*kept); err == nil {
		var found []asked
		if err := json.Unmarshal(data, &found); err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			all = append(all, f.example())
		}
	} else {
		var found []asked
		for _, f := range folders {
			found = append(found, ask(t, filepath.Dir(f))...)
		}
		for _, f := range found {
			all = append(all, f.example())
		}
		if data, err := json.Marshal(found); *kept != "" && err == nil {
			os.WriteFile(*kept, data, 0o600)
		}
	}
	all = slices.DeleteFunc(all, func(x example) bool {
		return *only != "" && (*only == "en") != (askedIn(x.ev.Query, x.ev.Passages) == "en")
	})
	if *pairsFile != "" {
		writePairs(t, all)
		return
	}
	if *chanceOnly {
		fitChance(t, all, blockWeights)
		return
	}
	losses(t, all)
	if *lossesOnly {
		return
	}
	none := make(map[int]bool)
	for _, corpus := range folders {
		name := filepath.Base(filepath.Dir(corpus))
		t.Logf("%s: %s", name, hits(slices.DeleteFunc(slices.Clone(all), func(x example) bool { return x.corpus != name }), blockWeights))
	}
	t.Logf("as it is: %s", hits(all, blockWeights))
	t.Logf("fitted to all: %s", hits(all, fitWeights(all, none)))
	t.Logf("fitted to other corpora: %.3f", crossValidated(all, none))
	for i, name := range featureNames {
		if !*leaveOut {
			break
		}
		t.Logf("  without %-10s %.3f", name, crossValidated(all, map[int]bool{i: true}))
	}
	w := fitWeights(all, none)
	misses(t, all, w)
	for i, name := range featureNames {
		fmt.Printf("%s: %.2f, ", name, w[i])
	}
	fmt.Println()
	fitChance(t, all, w)
}

// fitReader returns the reader to fit with, nil for none. For pairs it need not read.
func fitReader() *Reader {
	switch {
	case !*reading:
		return nil
	case *pairsFile == "":
		return NewReader()
	}
	unread := func(_ context.Context, _ string, texts []string) ([]float64, error) {
		return make([]float64, len(texts)), nil
	}
	return &Reader{English: unread, Others: unread}
}

// writePairs writes a line of JSON for each question: the question, and the blocks that the reader read with it, each with its
// text, whether it answers, the score without the reader, and that of the reader as it is.
func writePairs(t *testing.T, all []example) {
	type read struct {
		Text  string  `json:"text"`
		Right float64 `json:"right"`
		Score float64 `json:"score"`
		Now   float64 `json:"now"`
	}
	reader := NewReader()
	file, err := os.Create(*pairsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := json.NewEncoder(file)
	for i := range all {
		x := &all[i]
		if len(x.units) == 0 {
			continue
		}
		var blocks []read
		var texts []string
		for j, u := range x.units {
			f := u.features
			f[like] = 0
			blocks = append(blocks, read{Text: u.text, Right: x.right[j], Score: f.score()})
			texts = append(texts, u.text)
		}
		for j, s := range reader.read(t.Context(), inEnglish(x.ev.Query, askedIn(x.ev.Query, x.ev.Passages)), x.ev.Query, texts) {
			blocks[j].Now = (s - .5) * 20 // as it was before squash
		}
		if err := out.Encode(map[string]any{"corpus": x.corpus, "question": x.ev.Query, "blocks": blocks, "answerable": x.answerable}); err != nil {
			t.Fatal(err)
		}
	}
}

// losses logs, by corpus and by type of answer, at which stage the answers to questions are lost.
func losses(t *testing.T, all []example) {
	const stages = 6
	names := [stages]string{"not found", "no block", "ranked low", "refused", "not whole", "right"}
	counts := make(map[string]*[stages]int)
	for i := range all {
		x := &all[i]
		if !x.answerable {
			continue
		}
		stage := x.lost()
		for _, key := range []string{" all", "corpus " + x.corpus, "type " + x.kind} {
			if counts[key] == nil {
				counts[key] = new([stages]int)
			}
			counts[key][stage]++
		}
		if *lossesOnly && stage < stages-1 {
			t.Logf("%s: %s %s: %s", names[stage], x.corpus, x.kind, x.question)
		}
	}
	t.Logf("%-22s %11s", "", names)
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-22s %11d", key, *counts[key])
	}
}

// lost returns the stage at which the answer was lost: the passages do not hold it, no block of them does, another
// block ranks first, the answer was refused, or it lacks something; else 5.
func (x *example) lost() int {
	var found strings.Builder
	if x.ev != nil {
		for _, p := range x.ev.Passages {
			found.WriteString(p.Text + "\n")
		}
	}
	a := Answerer{}
	a.Reader = fitReader()
	var said []string
	for _, q := range a.quotes(context.Background(), x.ev, brief) {
		said = append(said, q.text)
	}
	answer := strings.Join(said, " ")
	possible, chosen := 0.0, 0.0
	if len(x.units) > 0 {
		possible, chosen = slices.Max(x.right), x.right[x.choice(blockWeights)]
	}
	switch {
	case len(said) > 0 && factsIn(answer, x.facts, x.not) > .99:
		return 5
	case factsIn(found.String(), x.facts, nil) < .99:
		return 0
	case possible == 0:
		return 1
	case chosen == 0:
		return 2
	case len(said) == 0:
		return 3
	}
	return 4
}

// misses logs the questions whose best block is not right, with the one that is.
func misses(t *testing.T, all []example, w features) {
	for i := range all {
		x := &all[i]
		if !x.answerable || len(x.units) == 0 {
			continue
		}
		at := x.choice(w)
		best := 0
		for j, r := range x.right {
			if r > x.right[best] || r == x.right[best] && weigh(w, x.units[j].features) > weigh(w, x.units[best].features) {
				best = j
			}
		}
		if x.right[at] < x.right[best] || x.right[best] == 0 {
			t.Logf("%s %s\n   chose %.1f %s\n      %.2f\n   right %.1f %s\n      %.2f", x.corpus, x.question,
				x.right[at], x.units[at].key, x.units[at].features, x.right[best], x.units[best].key, x.units[best].features)
		}
	}
}

var featureNames = []string{"inOwn", "inAsked", "inHeading", "inTitle", "inNear", "inPassage", "inTalk", "onTopic", "answering",
	"defining", "typed", "untyped", "opposing", "deciding", "leaning", "listing", "length", "like", "inGrams", "gramsAround", "dense"}

// asked is a question with the passages that were found for it.
type asked struct {
	ID, Question, Follows string
	Type                  string
	Facts, Not            []string
	Corpus                string
	Evidence              *llm.Evidence
}

// example returns the question with its blocks.
func (q *asked) example() example {
	a := Answerer{}
	a.Reader = fitReader()
	x := example{corpus: q.Corpus, question: q.Question, kind: q.Type, facts: q.Facts, not: q.Not, answerable: len(q.Facts) > 0, ev: q.Evidence}
	x.need, x.units = a.units(context.Background(), q.Evidence)
	for _, u := range x.units {
		x.right = append(x.right, factsIn(u.key, q.Facts, q.Not))
	}
	return x
}

// ask asks all questions of a corpus, and returns what there was to choose from.
func ask(t *testing.T, dir string) (all []asked) {
	pool := sandbox.NewPool(sandbox.Options{CacheDir: filepath.Join(os.TempDir(), "parley-fit-cache")})
	defer pool.Close()
	a := Answerer{}
	var options []retrieval.Option
	a.Reader = fitReader()
	if *vectors {
		options = append(options, retrieval.WithEmbedding(retrieval.Embedding{
			Embedders: &llm.Router{Embedders: map[string]llm.Embedder{"builtin": Embedder{}}},
			Model:     "builtin:multilingual-e5-small", Share: LikenessShare,
		}))
	}
	corpus := index(t, filepath.Join(dir, "docs"), pool, options...)
	if _, err := corpus.Embed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var seen *llm.Evidence
	engine := chat.NewEngine(chat.Config{
		Retriever: corpus, Models: &llm.Router{Providers: map[string]llm.Model{"builtin": &listener{Answerer: a, seen: &seen}}}, Rewrite: Rewrite,
		Read: func(ctx context.Context, ev *llm.Evidence) ([]int, bool) {
			seen = ev
			return a.Read(ctx, ev)
		},
		Defaults: chat.Options{Models: chat.Models{Inference: "builtin:extractive"}},
	})
	data, err := os.ReadFile(filepath.Join(dir, "facts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	talks := make(map[string][]chat.Message)
	for line := range strings.Lines(string(data)) {
		q := asked{Corpus: filepath.Base(dir)}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		messages := append(slices.Clip(talks[q.Follows]), chat.TextMessage(llm.User, q.Question))
		seen = nil
		turn, err := chat.Collect(engine.Run(context.Background(), &chat.Request{Options: engine.Defaults(), Messages: messages}))
		if err != nil {
			t.Fatal(err)
		}
		talks[q.ID] = append(messages, chat.TextMessage(llm.Assistant, turn.Messages[0].Text))
		q.Evidence = seen
		all = append(all, q)
	}
	return all
}

// listener keeps the evidence of the last question, unless all that was found is kept already.
type listener struct {
	Answerer
	seen **llm.Evidence
}

func (l *listener) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if *l.seen == nil {
		*l.seen = req.Evidence
	}
	return l.Answerer.Stream(ctx, req)
}

// factsIn returns the share of facts that a text holds, 0 for one that misleads.
func factsIn(s string, facts, not []string) (share float64) {
	for _, f := range not {
		if regexp.MustCompile("(?i)" + f).MatchString(s) {
			return 0
		}
	}
	for _, f := range facts {
		if regexp.MustCompile("(?i)" + f).MatchString(s) {
			share += 1 / float64(len(facts))
		}
	}
	return share
}

// choice returns the index of the best unit by weights.
func (x *example) choice(w features) int {
	best := 0
	for i := range x.units {
		if weigh(w, x.units[i].features) > weigh(w, x.units[best].features) {
			best = i
		}
	}
	return best
}

func weigh(w, f features) (sum float64) {
	for i := range w {
		sum += w[i] * f[i]
	}
	return sum
}

// hits says how many of the answerable questions the best block answers, and for how many there is one.
func hits(all []example, w features) string {
	n, right, possible := 0, 0.0, 0.0
	for i := range all {
		if x := &all[i]; x.answerable && len(x.units) > 0 {
			n++
			right += x.right[x.choice(w)]
			possible += slices.Max(x.right)
		}
	}
	return fmt.Sprintf("%.1f of %d, possible %.1f", right, n, possible)
}

// fitWeights returns the weights under which the right blocks have most of the chance among all blocks of
// their questions, near those that stand in the program. Features in without count nothing.
func fitWeights(all []example, without map[int]bool) features {
	const (
		rounds = 600
		rate   = 0.5
		spread = 6.0   // of scores: how sure the best is
		near   = 0.005 // how much it costs to leave the weights of the program
	)
	start := blockWeights
	for i := range without {
		start[i] = 0
	}
	w := start
	for range rounds {
		var slope features
		n := 0.0
		for i := range all {
			x := &all[i]
			if !x.answerable || len(x.units) == 0 || slices.Max(x.right) == 0 {
				continue
			}
			n++
			p, good := make([]float64, len(x.units)), 0.0
			sum, most := 0.0, math.Inf(-1)
			for j := range x.units {
				most = max(most, weigh(w, x.units[j].features))
			}
			for j := range x.units {
				p[j] = math.Exp(spread * (weigh(w, x.units[j].features) - most))
				sum += p[j]
			}
			best := slices.Max(x.right)
			for j := range p {
				p[j] /= sum
				if x.right[j] >= best {
					good += p[j]
				}
			}
			for j := range p {
				share := -p[j]
				if x.right[j] >= best {
					share += p[j] / max(good, 1e-9)
				}
				for k, v := range x.units[j].features {
					slope[k] += share * v
				}
			}
		}
		for k := range w {
			if !without[k] {
				w[k] += rate * (slope[k]/max(n, 1) - near*(w[k]-start[k]))
			}
		}
	}
	return w
}

// crossValidated returns the share of questions that are answered by weights that were fitted without their
// corpus; with one corpus alone, without each fifth of its questions.
func crossValidated(all []example, without map[int]bool) float64 {
	fold := func(i int) string { return all[i].corpus }
	if !slices.ContainsFunc(all, func(x example) bool { return x.corpus != all[0].corpus }) {
		fold = func(i int) string { return fmt.Sprint(i % 5) }
	}
	right, n := 0.0, 0
	done := make(map[string]bool)
	for i := range all {
		if done[fold(i)] {
			continue
		}
		done[fold(i)] = true
		var others, held []example
		for j := range all {
			if fold(j) == fold(i) {
				held = append(held, all[j])
			} else {
				others = append(others, all[j])
			}
		}
		w := fitWeights(others, without)
		for j := range held {
			if x := &held[j]; x.answerable && len(x.units) > 0 {
				n++
				right += x.right[x.choice(w)]
			}
		}
	}
	return right / float64(max(n, 1))
}

// fitChance fits how sure it is that the best block answers, and prints how many answers are right, wrong and
// refused from which chance on.
func fitChance(t *testing.T, all []example, w features) {
	all = slices.DeleteFunc(slices.Clone(all), func(x example) bool { return len(x.units) == 0 })
	var rows []grounds
	var right []float64
	var weight grounds
	for i := range all {
		x := &all[i]
		best := x.choice(w)
		for j := range x.units {
			x.units[j].score = weigh(w, x.units[j].features)
		}
		rows = append(rows, x.need.grounds(x.ev, x.units, best))
		right = append(right, math.Floor(x.right[best]+.5))
	}
	for range 4000 {
		var slope grounds
		for i, row := range rows {
			e := right[i] - row.chanceBy(weight)
			for k, v := range row {
				slope[k] += e * v
			}
		}
		for k := range weight {
			weight[k] += .5 * (slope[k]/float64(len(rows)) - .002*weight[k])
		}
	}
	fmt.Printf("chance: %.2f\n", weight)
	for _, worded := range []bool{true, false} {
		for _, reads := range []bool{true, false} {
			line := fmt.Sprintf("worded %v, read %v:", worded, reads)
			for _, least := range []float64{0, .2, .25, .3, .35, .4, .45, .5, .55, .6, .7} {
				good, bad := 0, 0
				for i, row := range rows {
					x := &all[i]
					if x.need.worded(x.ev, x.units) != worded || ((askedIn(x.ev.Query, x.ev.Passages) == "en") && *reading) != reads || row.chanceBy(weight) < least {
						continue
					}
					if right[i] > 0 {
						good++
					} else {
						bad++
					}
				}
				line += fmt.Sprintf(" %.2f: %d/%d", least, good, bad)
			}
			fmt.Println(line)
		}
	}
	for _, least := range []float64{0, .1, .2, .25, .3, .35, .4, .45, .5, .6, .7, .8} {
		good, bad, refused, wrongly := 0, 0, 0, 0
		n := 0
		for i, row := range rows {
			x := &all[i]
			n++
			switch sure := row.chanceBy(weight) >= least; {
			case sure && right[i] > 0:
				good++
			case sure:
				bad++
			case x.answerable && slices.Max(x.right) > .5:
				wrongly++
			default:
				refused++
			}
		}
		fmt.Printf("least %.2f: of %d right %d, wrong %d, refused %d, refused though there is an answer %d\n", least, n, good, bad, refused, wrongly)
	}
}
