package encoder

import (
	"context"
	"math"
)

// pass is the memory of one run of the network over the tokens of one text.
type pass struct {
	*weights
	k kernels

	n, rows int       // tokens, and rows of the matrices: n padded to a multiple of tileRows
	x       []float32 // rows × hidden: the state of each token
	wide    []float32 // rows × the widest output
	mixed   []float32 // rows × hidden
	keys    []float32 // of one head, in panels of 16 tokens: [panel][dimension][token]
	values  []float32 // of one head, in panels of 16 dimensions: [panel][token][dimension]
	weight  []float32 // rows × padded tokens: how much each token attends to each other
	q       quantized
	acc     tile
}

// newPass returns memory for texts of up to n tokens.
func newPass(w *weights, k kernels, n int) *pass {
	rows := padded(n, tileRows)
	places := padded(n, panelColumns)
	return &pass{
		weights: w, k: k,
		x: make([]float32, rows*w.Hidden), mixed: make([]float32, rows*w.Hidden),
		wide:   make([]float32, rows*max(3*w.Hidden, w.Inner)),
		keys:   make([]float32, places*w.Hidden/w.Heads),
		values: make([]float32, n*w.Hidden/w.Heads),
		weight: make([]float32, rows*places),
		q:      quantized{bytes: make([]uint8, rows*max(w.Hidden, w.Inner)), zero: make([]int32, rows), scale: make([]float32, rows)},
	}
}

func padded(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// run leaves the network's last state of the first wanted tokens in p.x. The tokens from second on are those
// of a second text. It ends early when ctx does. A run in the background gives way before each layer (InBackground).
func (p *pass) run(ctx context.Context, tokens []int32, second, wanted int) error {
	p.n, p.rows = len(tokens), padded(len(tokens), tileRows)
	place := enter(ctx)
	defer place.leave()
	p.embed(tokens, second)
	for i := range p.layers {
		place.giveWay(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &p.layers[i]
		p.multiply(&l.attend, p.x, p.wide)
		if i == len(p.layers)-1 {
			p.attend(wanted)
			p.n, p.rows = wanted, padded(wanted, tileRows) // nothing reads the other tokens any more
		} else {
			p.attend(p.n)
		}
		p.multiply(&l.project, p.mixed, p.wide)
		p.addAndNorm(l.attended)
		p.multiply(&l.expand, p.x, p.wide)
		p.k.gelu(p.wide[:p.n*p.Inner])
		p.multiply(&l.contract, p.wide, p.mixed)
		copy(p.wide, p.mixed[:p.n*p.Hidden])
		p.addAndNorm(l.done)
	}
	return nil
}

// embed sets the state of each token to the sum of the embeddings of its word, position and segment.
func (p *pass) embed(tokens []int32, second int) {
	h := p.Hidden
	kind := p.kinds[:h]
	for i, token := range tokens {
		if i == second {
			kind = p.kinds[h:]
		}
		place, row := p.positions[i*h:][:h], p.x[i*h:][:h]
		p.word(int(token), row)
		for j := range row {
			// The order matters: another one rounds differently, and reverses the order of answers that are nearly equal. The
			// conversions keep the compiler from rounding products and sums at once, as it does on arm64.
			row[j] = row[j] + float32(float32(int(place[j])-128)*p.placeScale) + float32(float32(int(kind[j])-128)*p.kindScale)
		}
		p.embedded.apply(row, p.Epsilon)
	}
}

// multiply sets out to in × l, for the rows of all tokens.
func (p *pass) multiply(l *linear, in, out []float32) {
	for r := range p.n {
		row := in[r*l.in:][:l.in]
		low, high := p.k.limits(row)
		low, high = min(low, 0), max(high, 0)
		scale := (high - low) / 255
		if scale == 0 {
			scale = 1
		}
		zero := int32(math.RoundToEven(float64(-low / scale)))
		p.q.zero[r], p.q.scale[r] = zero, scale
		p.k.bytes(p.q.bytes[r*l.in:][:l.in], row, 1/scale, zero)
	}
	clear(p.q.bytes[p.n*l.in : p.rows*l.in])
	panel := l.in * panelColumns
	for c := 0; c < l.out; c += tileColumns {
		b := l.panels[c*l.in:][:2*panel]
		for r := 0; r < p.n; r += tileRows {
			p.k.tile(&p.acc, p.q.bytes[r*l.in:], l.in, b, panel)
			q := quantized{zero: p.q.zero[r:], scale: p.q.scale[r:]}
			p.k.scale(out[r*l.out+c:], l.out, &p.acc, min(tileRows, p.n-r), &q, l.sums[c:], l.scales[c:], l.bias[c:])
		}
	}
}

// attend sets p.mixed, for each of the first tokens, to what that token takes from all tokens, head by head. p.wide holds
// queries, keys and values side by side.
func (p *pass) attend(first int) {
	size := p.Hidden / p.Heads
	stride, places := 3*p.Hidden, padded(p.n, panelColumns)
	factor := float32(1 / math.Sqrt(float64(size)))
	clear(p.wide[p.n*stride : p.rows*stride]) // the padding takes part in the tiles below
	for head := range p.Heads {
		p.arrange(head, size, stride, factor)
		at := head * size
		for r := 0; r < first; r += floatRows {
			scores := p.weight[r*places:]
			for c := 0; c < places; c += panelColumns {
				p.k.floatTile(scores[c:], places, p.wide[r*stride+at:], stride, p.keys[c*size:], size)
			}
			for i := range min(floatRows, first-r) {
				p.softmax(scores[i*places:][:places])
			}
			for c := 0; c < size; c += panelColumns {
				p.k.floatTile(p.mixed[r*p.Hidden+at+c:], p.Hidden, scores, places, p.values[c*p.n:], p.n)
			}
		}
	}
}

// arrange copies the keys of a head, scaled by factor, and its values into panels.
func (p *pass) arrange(head, size, stride int, factor float32) {
	clear(p.keys[:padded(p.n, panelColumns)*size])
	for i := range p.n {
		row := p.wide[i*stride+head*size:]
		key, value := row[p.Hidden:][:size], row[2*p.Hidden:][:size]
		panel := p.keys[i/panelColumns*panelColumns*size:]
		for j, v := range key {
			panel[j*panelColumns+i%panelColumns] = v * factor
		}
		for c := 0; c < size; c += panelColumns {
			copy(p.values[c*p.n+i*panelColumns:], value[c:][:panelColumns])
		}
	}
}

// softmax turns the scores of the first p.n places into shares that sum to one.
func (p *pass) softmax(scores []float32) {
	for i := p.n; i < len(scores); i++ {
		scores[i] = scores[0] // padding: it must change neither the limits nor, below, the sum
	}
	_, high := p.k.limits(scores)
	for i := p.n; i < len(scores); i++ {
		scores[i] = float32(math.Inf(-1))
	}
	inverse := 1 / p.k.exp(scores, high)
	for i := range scores[:p.n] {
		scores[i] *= inverse
	}
}

// addAndNorm adds p.wide, whose rows are as long as the state, to the state and normalises it.
func (p *pass) addAndNorm(n layerNorm) {
	for r := 0; r < p.n; r += normRows {
		p.k.norm(p.x[r*p.Hidden:], p.wide[r*p.Hidden:], n, p.Epsilon)
	}
}

// apply normalises x to mean 0 and variance 1, and then scales and shifts it.
func (n layerNorm) apply(x []float32, epsilon float32) {
	var sum, squares float32
	for _, v := range x {
		sum += v
	}
	mean := sum / float32(len(x))
	for _, v := range x {
		squares += float32((v - mean) * (v - mean))
	}
	inverse := inverseDeviation(squares, len(x), epsilon)
	for j, v := range x {
		x[j] = float32((v-mean)*inverse*n.gain[j]) + n.bias[j]
	}
}

// inverseDeviation returns 1 / √(squares/n + epsilon).
func inverseDeviation(squares float32, n int, epsilon float32) float32 {
	return float32(1 / math.Sqrt(float64(squares/float32(n)+epsilon)))
}
