"""Trains the built-in reader of other languages, which begins as multilingual-e5-small, on questions with blocks that answer them and blocks that
do not, and to score translations of texts as the English reader scores the English ones:

    python test/encoderweights/aligned.py help aligned.json
    python test/encoderweights/trainmany.py e5small.bin state.pt --aligned aligned.json --teacher minilm.bin --pairs FILE:WEIGHT... --minutes 30
    python test/encoderweights/trainmany.py e5small.bin reader.bin --start state.pt --write
    python test/encoderweights/trainmany.py e5small.bin internal/encoder/e5reader/testdata/reference.json --reference reader.bin

e5small.bin and minilm.bin are the files of weights of the program. FILEs are made as train.py says, with `-only other` for other languages than
English, of corpora that corpora.py made of 9 documents in one language. WEIGHT says how often a question of a file is asked. It needs a processor
with AMX, which multiplies matrices in bfloat16 ten times faster than in float32.

docs/decisions.md says what the program's weights were trained on, and in which order.
"""

import argparse, json, random, struct, time
import numpy as np, torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers
import train as english
from train import HEADS, HIDDEN, INNER, LAYERS, Weights, right

LONGEST = 160  # tokens of a question and a block
SCALE = 4.0  # of the score, so that it learns as fast as the rest
STEPS = 64  # in which the program stores the greatest weight of an output
PARTS = (("attend", HIDDEN, 3 * HIDDEN), ("project", HIDDEN, HIDDEN), ("expand", HIDDEN, INNER), ("contract", INNER, HIDDEN))
B = torch.bfloat16


def attended(q, k, v, bias):
    weights = torch.softmax((q @ k.transpose(-1, -2)).float() * (HIDDEN / HEADS) ** -0.5 + bias, -1)
    return (weights.to(B) @ v).transpose(1, 2)


def rest(x, mixed, kept, pw, pb, ew, eb, cw, cb, g1, b1, g2, b2):
    x = F.layer_norm((x + F.linear(mixed, pw, pb) * kept[0]).float(), (HIDDEN,), g1, b1, 1e-12).to(B)
    return F.layer_norm((x + F.linear(F.gelu(F.linear(x, ew, eb)), cw, cb) * kept[1]).float(), (HIDDEN,), g2, b2, 1e-12).to(B)


def layer(x, bias, kept, aw, ab, *others):
    n, length, _ = x.shape
    q, k, v = (y.transpose(1, 2) for y in F.linear(x, aw, ab).view(n, length, 3, HEADS, -1).unbind(2))
    return rest(x, attended(q, k, v, bias).reshape(n, length, HIDDEN), kept, *others)


def last(x, bias, aw, ab, *others):
    """The last layer, of the first token alone."""
    n, length, _ = x.shape
    k, v = (y.transpose(1, 2) for y in F.linear(x, aw[HIDDEN:], ab[HIDDEN:]).view(n, length, 2, HEADS, -1).unbind(2))
    q = F.linear(x[:, 0], aw[:HIDDEN], ab[:HIDDEN]).view(n, HEADS, 1, -1)
    return rest(x[:, 0], attended(q, k, v, bias).reshape(n, HIDDEN), (1, 1), *others)


def as_stored(w):
    """Weights as the program stores them; gradients pass."""
    with torch.no_grad():
        scale = w.abs().amax(1, keepdim=True).clamp(min=1e-8) / STEPS
        away = (w / scale).round_().mul_(scale).sub_(w)
    return w + away


class Dropout:
    """Masks cut from a large one, since drawing them takes longer than a layer."""

    def __init__(self, rate):
        self.mask = (torch.rand(1 << 24) >= rate).to(B) / (1 - rate)

    def of(self, x):
        at = random.randrange(len(self.mask) - x.numel())
        return self.mask[at : at + x.numel()].view(x.shape)


class Reader(torch.nn.Module):
    def __init__(self, w, base):
        """The reader in a file of weights, or a new one from those of the embedder. base has the vocabulary."""
        super().__init__()
        raw = base.get("words.blocks", np.uint8).reshape(-1, 18)
        scale = raw[:, :2].copy().view(np.float16).astype(np.float32)
        words = np.concatenate([(raw[:, 2:] & 15).astype(np.float32), (raw[:, 2:] >> 4).astype(np.float32)], 1)
        self.register_buffer("words", torch.tensor(((words - 8) * scale).reshape(-1, HIDDEN)), persistent=False)
        scales = w.get("embedding.scales", np.float32)
        table = lambda name, s: torch.tensor((w.get(name, np.uint8).reshape(-1, HIDDEN).astype(np.float32) - 128) * s)
        self.places = torch.nn.Parameter(table("positions", scales[1]))
        self.kinds = torch.nn.Parameter(table("kind", scales[2]).repeat(2, 1)[:2])
        self.embedded = self.norm(w, "embedded")
        self.layers = torch.nn.ModuleList()
        for i in range(LAYERS):
            l = torch.nn.ModuleDict()
            for part, inputs, outputs in PARTS:
                l[part] = torch.nn.Linear(inputs, outputs)
                l[part].weight.data, l[part].bias.data = (torch.tensor(a) for a in w.linear(f"layer.{i}.{part}", inputs, outputs))
            l["attended"], l["done"] = self.norm(w, f"layer.{i}.attended"), self.norm(w, f"layer.{i}.done")
            self.layers.append(l)
        self.pooled, self.score = torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Linear(HIDDEN, 1)
        for l, deviation in ((self.pooled, 0.02), (self.score, 0.05)):
            torch.nn.init.normal_(l.weight, std=deviation), torch.nn.init.zeros_(l.bias)
        if w is not base:
            self.pooled.weight.data, self.pooled.bias.data = (torch.tensor(a) for a in w.linear("pooled", HIDDEN, HIDDEN))
            self.score.weight.data = torch.tensor(w.get("score.weights", np.float32)[None] / SCALE)
            self.score.bias.data = torch.tensor(w.get("score.bias", np.float32) / SCALE)
        self.compiled = torch.compile(layer, dynamic=True)

    def norm(self, w, name):
        l = torch.nn.LayerNorm(HIDDEN, eps=1e-12)
        l.weight.data, l.bias.data = (torch.tensor(w.get(f"{name}.{part}", np.float32).copy()) for part in ("gain", "bias"))
        return l

    def forward(self, ids, kinds, mask, dropout=None, stored=False):
        x = self.embedded(self.words[ids] + self.places[: ids.shape[1]] + self.kinds[kinds]).to(B)
        bias = torch.where(mask[:, None, None, :], 0.0, -1e4)
        for i, l in enumerate(self.layers):
            ws = [(as_stored(l[part].weight) if stored else l[part].weight, l[part].bias) for part, *_ in PARTS]
            ws = [a.to(B) for pair in ws for a in pair] + [a for n in ("attended", "done") for a in (l[n].weight, l[n].bias)]
            if i == LAYERS - 1:
                x = last(x, bias, *ws)
            elif dropout:
                x = self.compiled(x, bias, (dropout.of(x), dropout.of(x)), *ws)
            else:
                x = layer(x, bias, (1, 1), *ws)
        return self.score(torch.tanh(self.pooled(x.float())))[:, 0] * SCALE

    def scores(self, pairs, dropout=None, stored=False, most=4096):
        """The scores of pairs of tokens, in batches of like length."""
        order, out, at = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0])), [None] * len(pairs), 0
        while at < len(order):
            end = at + 1
            while end < len(order) and (end + 1 - at) * len(pairs[order[end]][0]) <= most:
                end += 1
            for i, s in zip(order[at:end], self(*batch([pairs[i] for i in order[at:end]]), dropout, stored)):
                out[i] = s
            at = end
        return torch.stack(out)


def batch(pairs):
    length = max(len(tokens) for tokens, _ in pairs)
    ids, kinds, mask = torch.ones(len(pairs), length, dtype=torch.long), torch.zeros(len(pairs), length, dtype=torch.long), torch.zeros(len(pairs), length, dtype=torch.bool)
    for i, (tokens, second) in enumerate(pairs):
        ids[i, : len(tokens)], kinds[i, second : len(tokens)], mask[i, : len(tokens)] = torch.from_numpy(tokens), 1, True
    return ids, kinds, mask


class Tokens:
    def __init__(self, w):
        pieces = w.get("vocabulary", np.uint8).tobytes().decode().split("\n")[:-1]
        self.table, t = {}, w.get("characters", np.uint8).tobytes()
        while t:
            c, n = struct.unpack_from("<IB", t)
            self.table[c] = "".join(map(chr, struct.unpack_from(f"<{n}I", t, 5)))
            t = t[5 + 4 * n :]
        self.tokenizer = Tokenizer(models.Unigram(list(zip(pieces, w.get("vocabulary.scores", np.float32).tolist())), unk_id=3))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        self.known = {}

    def of(self, text):
        if text not in self.known:
            clean = " ".join(word for word in text.translate(self.table).split(" ") if word)
            self.known[text] = self.tokenizer.encode(clean, add_special_tokens=False).ids if clean else []
        return self.known[text]

    def pair(self, question, text):
        a = self.of(question)[: LONGEST // 2]
        b = self.of(text)[: LONGEST - len(a) - 3]
        return np.array([0, *a, 2, *b, 2], np.int64), len(a) + 2


class Teacher:
    """The English reader."""

    def __init__(self, path):
        w = Weights(path)
        self.model, self.tokenizer, self.known = english.Reader(w), english.tokenizer_of(w), {}

    @torch.no_grad()
    def scores(self, pairs):
        new = sorted({p for p in pairs if p not in self.known}, key=lambda p: (len(p[0]) + len(p[1]), p))
        with torch.autocast("cpu", B):
            for at in range(0, len(new), 48):
                ids, kinds, mask = english.tensors(self.tokenizer, new[at : at + 48])
                s = self.model.head(self.model.lower(ids, kinds, mask, LAYERS)).float()
                self.known.update(zip(new[at : at + 48], s.tolist()))
        return torch.tensor([self.known[p] for p in pairs])


class Questions:
    """Questions of files, each as often as its file's weight says."""

    def __init__(self, files):
        self.files = []
        for path, weight in (f.rsplit(":", 1) for f in files):
            questions = [q for q in english.load([path]) if q["blocks"] and (not q["answerable"] or any(map(right, q["blocks"])))]
            random.shuffle(questions)
            self.files.append([float(weight) * len(questions), questions, 0])

    def next(self, most):
        """A question, with up to two blocks that answer it, those that the reader found likeliest before, and some that have its words."""
        f = random.choices(self.files, [f[0] for f in self.files])[0]
        q = f[1][f[2] % len(f[1])]
        f[2] += 1
        good, bad = [b for b in q["blocks"] if right(b)], [b for b in q["blocks"] if b["right"] == 0]
        chosen = random.sample(good, min(2, len(good)))
        left = most - len(chosen)
        likely = sorted((b for b in bad if "seen" in b), key=lambda b: -b["seen"])[: left // 2]
        worded = sorted((b for b in bad if b not in likely), key=lambda b: -b["score"])[:18]
        return q["question"], chosen + likely + random.sample(worded, min(len(worded), left - len(likely)))


def translation(query):
    """A query and its paragraphs, mostly in one language, and the same in English."""
    languages = [l for l in query["query"] if l != "en-US"]
    asked = random.choice(languages) if random.random() > 0.15 else "en-US"
    said = asked if random.random() < 0.75 else random.choice(languages + ["en-US"] * 6)
    paragraphs = random.sample(query["paragraphs"], min(7, len(query["paragraphs"])))
    text = query["query"].get(asked) or query["query"]["en-US"]
    return [(text, p.get(said) or p["en-US"]) for p in paragraphs], [(query["query"]["en-US"], p["en-US"]) for p in paragraphs]


def train(model, tokens, o):
    teacher, questions = Teacher(o.teacher) if o.aligned else None, Questions(o.pairs)
    aligned, at = json.load(open(o.aligned)) if o.aligned else [], 0
    random.shuffle(aligned)
    if not aligned:
        o.aligned_share = 0
    dropout, parameters = Dropout(o.dropout), list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=o.rate, weight_decay=0.01)
    began, step, seen = time.time(), 0, []
    while (share := (time.time() - began) / 60 / o.minutes) < 1:
        for g in optimizer.param_groups:
            g["lr"] = o.rate * min(1, (step + 1) / 50) * max(0.03, 1 - share)
        pairs, spans = [], []
        for _ in range(o.aligned_share):
            texts, originals = translation(aligned[at % len(aligned)])
            spans.append((len(pairs), len(pairs) + len(texts), originals, None))
            pairs, at = pairs + texts, at + 1
        for _ in range(o.queries - o.aligned_share):
            question, blocks = questions.next(o.blocks)
            if blocks:
                spans.append((len(pairs), len(pairs) + len(blocks), None, blocks))
                pairs += [(question, b["text"]) for b in blocks]
        s = model.scores([tokens.pair(*p) for p in pairs], dropout, o.stored)
        loss, sums = 0, [0, 0]
        for a, b, originals, blocks in spans:
            if originals:
                t = teacher.scores(originals)
                one = F.kl_div(torch.log_softmax(s[a:b] / 2, 0), torch.softmax(t / 2, 0), reduction="sum") + 0.3 * F.smooth_l1_loss(s[a:b] / 2, t / 2)
            else:
                y = torch.tensor([float(right(c)) for c in blocks])
                one = F.binary_cross_entropy_with_logits(s[a:b] / 2, y)
                if y.sum() > 0:
                    one = one - torch.log((torch.softmax(s[a:b] / 2, 0) * y).sum() + 1e-9)
                for c, v in zip(blocks, s[a:b].tolist()):
                    c["seen"] = v
            sums[blocks is None] += one.item()
            loss = loss + one / len(spans)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seen.append(sums)
        step += 1
        if step % 20 == 0:
            asked, taught = np.mean(seen[-20:], 0)
            print(f"step {step}, {time.time() - began:.0f} s, loss of questions {asked / max(1, o.queries - o.aligned_share):.3f}, of translations {taught / max(1, o.aligned_share):.3f}", flush=True)
        if step % 100 == 0:
            torch.save(model.state_dict(), o.out)
    torch.save(model.state_dict(), o.out)


def write(model, base, path):
    arrays, body = {}, bytearray()

    def add(name, array):
        body.extend(b"\0" * (-len(body) % 64))
        data = np.ascontiguousarray(array).tobytes()
        arrays[name] = {"offset": len(body), "length": len(data)}
        body.extend(data)

    def table(name, values):
        scale = np.abs(values).max() / 127
        add(name, (np.rint(values / scale) + 128).astype(np.uint8))
        return scale

    def linear(name, l):
        matrix, (outputs, inputs) = l.weight.numpy(), l.weight.shape
        scales = np.maximum(np.abs(matrix).max(1), 1e-8) / STEPS
        whole = np.clip(np.rint(matrix / scales[:, None]), -STEPS, STEPS).astype(np.int8)
        add(name + ".weights", whole.reshape(outputs // 16, 16, inputs // 4, 4).transpose(0, 2, 1, 3))
        add(name + ".sums", whole.astype(np.int32).sum(1).astype(np.int32))
        add(name + ".scales", scales.astype(np.float32)), add(name + ".bias", l.bias.numpy())

    def norm(name, l):
        add(name + ".gain", l.weight.numpy()), add(name + ".bias", l.bias.numpy())

    model.requires_grad_(False)
    scales = [1, table("positions", model.places.numpy()), table("kind", model.kinds.numpy())]
    add("embedding.scales", np.array(scales, np.float32)), norm("embedded", model.embedded)
    for i, l in enumerate(model.layers):
        for part, *_ in PARTS:
            linear(f"layer.{i}.{part}", l[part])
        norm(f"layer.{i}.attended", l["attended"]), norm(f"layer.{i}.done", l["done"])
    linear("pooled", model.pooled)
    add("score.weights", model.score.weight.numpy()[0] * SCALE), add("score.bias", model.score.bias.numpy() * SCALE)
    kept = {k: v for k, v in base.header.items() if k not in ("passage", "mean", "tokenizer")}
    header = kept | {"name": base.header["name"] + "-reader", "query": "", "shares": base.header["name"], "arrays": arrays,
                     "source": base.header["source"] + ", trained by test/encoderweights/trainmany.py"}
    header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-(20 + len(header)) % 64)
    open(path, "wb").write(base.magic + struct.pack("<I", len(header)) + header + bytes(body))


def refer(model, tokens, path):
    """Writes the scores of some pairs in floats, for the tests of internal/encoder/e5reader."""
    global B
    B = torch.float32
    answers = [
        ("Wie viele Urlaubstage stehen mir zu?", "Der Urlaub beträgt jährlich mindestens 24 Werktage."),
        ("签三年合同试用期最长多久？", "三年以上固定期限和无固定期限的劳动合同，试用期不得超过六个月。"),
        ("¿Cuánto cuesta la entrada para un niño?", "| Entrada | Adulto | Niño |\n| --- | --- | --- |\n| Piscina | 5,20 € | 2,80 € |"),
        ("À quelle heure ferme la bibliothèque le samedi ?", "Bibliothèque municipale: Le samedi, nous vous accueillons de 10 h à 17 h."),
        ("Сколько дней отпуска?", "Ежегодный отпуск составляет 28 календарных дней."),
        ("東京都の休暇は年間何日ですか", "職員の年次有給休暇は、一の年につき２０日とする。"),
        ("연차 휴가는 며칠입니까?", "1년간 80퍼센트 이상 출근한 근로자에게 15일의 유급휴가를 주어야 한다."),
        ("How many days of leave do I get?", "Der Urlaub beträgt jährlich mindestens 24 Werktage."),
        ("🙂 ⟨marker⟩ สวัสดี", "naïve façade Ångström e\u0301tude"),
    ]
    pairs = [(q, t) for i, (q, _) in enumerate(answers) for t in {answers[i][1], answers[(i + 1) % 7][1]}]
    pairs.sort()
    with torch.no_grad():
        scores = model.scores([tokens.pair(*p) for p in pairs]).tolist()
    rows = [dict(zip(("question", "passage", "tokens", "second", "score"), (*p, tokens.pair(*p)[0].tolist(), tokens.pair(*p)[1], round(s, 4)))) for p, s in zip(pairs, scores)]
    open(path, "w").write("[" + ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows) + "]\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weights"), p.add_argument("out")
    p.add_argument("--start", help="the state to begin with")
    p.add_argument("--aligned"), p.add_argument("--teacher")
    p.add_argument("--pairs", nargs="*", default=[])
    p.add_argument("--aligned-share", type=int, default=6, help="how many of the queries of a step are translations")
    p.add_argument("--queries", type=int, default=14, help="of a step")
    p.add_argument("--blocks", type=int, default=6)
    p.add_argument("--rate", type=float, default=1e-4)
    p.add_argument("--dropout", type=float, default=0.15)
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--stored", action="store_true", help="train with the weights as the program stores them")
    p.add_argument("--write", action="store_true", help="write the file of weights")
    p.add_argument("--reference", help="the file of weights whose scores are to be written")
    o = p.parse_args()
    random.seed(1), torch.manual_seed(1)
    w = Weights(o.weights)
    model = Reader(Weights(o.reference) if o.reference else w, w)
    if o.start:
        model.load_state_dict(torch.load(o.start))
    if o.reference:
        refer(model, Tokens(w), o.out)
    elif o.write:
        write(model, w, o.out)
    else:
        train(model, Tokens(w), o)


if __name__ == "__main__":
    main()
