package eval

import (
	"math"
	"math/rand/v2"
	"slices"

	"parley/internal/text"
)

// topics places texts in a space of few dimensions in which texts of one topic are near (latent
// semantic analysis: the leading singular vectors of the matrix of weighted terms). It stands for
// what embeddings have in common with words.
type topics struct {
	terms map[string]int
	idf   []float64
	axes  [][]float32 // by term
	size  int
}

// weighted is a text as its terms, with weights whose squares sum to 1.
type weighted struct {
	term   []int
	weight []float64
}

// newTopics returns a space of so many dimensions, and where the texts are in it.
func newTopics(texts []string, size int) (*topics, [][]float32) {
	t := &topics{terms: map[string]int{}, size: size}
	frequency := map[string]int{}
	for _, s := range texts {
		seen := map[string]bool{}
		for _, term := range text.Terms(s) {
			if !seen[term] {
				seen[term] = true
				frequency[term]++
			}
		}
	}
	var names []string
	for term, n := range frequency {
		if n >= 2 {
			names = append(names, term)
		}
	}
	slices.Sort(names)
	for i, term := range names {
		t.terms[term] = i
		t.idf = append(t.idf, math.Log(float64(len(texts))/float64(frequency[term])))
	}
	rows := make([]weighted, len(texts))
	for i, s := range texts {
		rows[i] = t.weigh(s)
	}
	// Subspace iteration from a random start.
	rnd := rand.New(rand.NewPCG(7, 7))
	t.axes = make([][]float32, len(names))
	for i := range t.axes {
		t.axes[i] = gaussian(rnd, size)
	}
	placed := make([][]float32, len(texts))
	for range 3 {
		for i, r := range rows {
			placed[i] = t.project(r)
		}
		orthogonalize(placed, size)
		for i := range t.axes {
			clear(t.axes[i])
		}
		for i, r := range rows {
			for j, term := range r.term {
				addTo(t.axes[term], placed[i], float32(r.weight[j]))
			}
		}
		orthogonalize(t.axes, size)
	}
	for i, r := range rows {
		placed[i] = scaled(t.project(r), 1)
	}
	return t, placed
}

// place returns where a text is, as a unit vector.
func (t *topics) place(s string) []float32 { return scaled(t.project(t.weigh(s)), 1) }

func (t *topics) weigh(s string) weighted {
	count := map[int]float64{}
	for _, term := range text.Terms(s) {
		if i, ok := t.terms[term]; ok {
			count[i]++
		}
	}
	var w weighted
	sum := 0.0
	for term := range count {
		w.term = append(w.term, term)
	}
	slices.Sort(w.term)
	for _, term := range w.term {
		x := (1 + math.Log(count[term])) * t.idf[term]
		w.weight = append(w.weight, x)
		sum += x * x
	}
	for i := range w.weight {
		w.weight[i] /= math.Sqrt(sum)
	}
	return w
}

func (t *topics) project(w weighted) []float32 {
	v := make([]float32, t.size)
	for i, term := range w.term {
		addTo(v, t.axes[term], float32(w.weight[i]))
	}
	return v
}

// orthogonalize makes the columns of a matrix orthogonal to each other and of length 1. It copies each column into a slice of its
// own, which is several times as fast as going through the rows.
func orthogonalize(rows [][]float32, columns int) {
	column := make([][]float32, columns)
	for c := range column {
		column[c] = make([]float32, len(rows))
		for i, r := range rows {
			column[c][i] = r[c]
		}
	}
	for c, v := range column {
		for _, earlier := range column[:c] {
			product := 0.0
			for i, x := range earlier {
				product += float64(x) * float64(v[i])
			}
			for i, x := range earlier {
				v[i] -= float32(product) * x
			}
		}
		sum := 1e-12
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		for i, r := range rows {
			v[i] /= float32(math.Sqrt(sum))
			r[c] = v[i]
		}
	}
}

func gaussian(rnd *rand.Rand, size int) []float32 {
	v := make([]float32, size)
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
	}
	return v
}

func addTo(v, w []float32, factor float32) {
	for i, x := range w {
		v[i] += factor * x
	}
}

// scaled returns v with a length; zero stays zero.
func scaled(v []float32, length float64) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum > 0 {
		factor := float32(length / math.Sqrt(sum))
		for i := range v {
			v[i] *= factor
		}
	}
	return v
}

func cosine(a, b []float32) float64 {
	var s0, s1, s2, s3 float32
	for i := 0; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	return float64(s0 + s1 + s2 + s3)
}
