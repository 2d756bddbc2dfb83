"""Trains the upper layers of the built-in reader on questions with blocks that answer them and blocks that do not:

    go test ./internal/builtin -run TestFit -fit -reading -only en -answers FOLDER -pairs pairs.jsonl
    pip install torch numpy tokenizers
    python test/encoderweights/train.py original.bin reader.bin pairs.jsonl... [--held held.jsonl]

FOLDER is what corpora.py made, once with 1 document each and once with 18. The file of weights that it reads and writes is the one of encoderweights.
The program has weights that were trained twice: five passes over everyday, reports, software and workplace (--epochs 5 --minutes 75), and then, from
reader-1.0.bin of these, two passes over the other files, of corpora of 1 document, with a third of the questions before and all of them whose right block
was not among those that were read then (3,780 in all). What the reader of the program at that time, reader-0.75.bin, found likeliest without being right
is what it is trained to tell. `--held` names questions that are only measured: how often
the best block is right by the reader alone, and how well its score tells right blocks (area under the curve).

    python test/encoderweights/train.py reader.bin internal/encoder/minilm/testdata/reference.json --reference

writes the scores that the weights give in floats into the reference of the tests.
"""

import argparse, json, math, random, struct, sys, time
import numpy as np, torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

LAYERS, HIDDEN, HEADS, INNER = 12, 384, 12, 1536
LONGEST = 144  # tokens of a question and a block
TRAINED = ", trained by test/encoderweights/train.py on test/answers/train"


class Weights:
    """The arrays of a file of weights."""

    def __init__(self, path):
        raw = open(path, "rb").read()
        self.magic = raw[:16]
        size = struct.unpack("<I", raw[16:20])[0]
        self.header = json.loads(raw[20 : 20 + size])
        self.body = bytearray(raw[20 + size :])

    def place(self, name):
        a = self.header["arrays"][name]
        return a["offset"], a["offset"] + a["length"]

    def get(self, name, kind):
        start, end = self.place(name)
        return np.frombuffer(bytes(self.body[start:end]), kind)

    def put(self, name, array):
        start, end = self.place(name)
        data = array.tobytes()
        assert len(data) == end - start, name
        self.body[start:end] = data

    def linear(self, name, inputs, outputs):
        """The matrix, outputs x inputs, and its bias."""
        packed = self.get(name + ".weights", np.int8).reshape(outputs // 16, inputs // 4, 16, 4)
        matrix = packed.transpose(0, 2, 1, 3).reshape(outputs, inputs).astype(np.float32)
        return matrix * self.get(name + ".scales", np.float32)[:, None], self.get(name + ".bias", np.float32).copy()

    def put_linear(self, name, matrix, bias):
        outputs, inputs = matrix.shape
        scales = np.maximum(np.abs(matrix).max(1), 1e-8) / 64
        whole = np.clip(np.rint(matrix / scales[:, None]), -64, 64).astype(np.int8)
        self.put(name + ".weights", np.ascontiguousarray(whole.reshape(outputs // 16, 16, inputs // 4, 4).transpose(0, 2, 1, 3)))
        self.put(name + ".sums", whole.astype(np.int32).sum(1).astype(np.int32))
        self.put(name + ".scales", scales.astype(np.float32))
        self.put(name + ".bias", bias.astype(np.float32))

    def write(self, path):
        if TRAINED not in self.header["source"]:
            self.header["source"] += TRAINED
        header = json.dumps(self.header, separators=(",", ":")).encode()
        header += b" " * (-(20 + len(header)) % 64)
        open(path, "wb").write(self.magic + struct.pack("<I", len(header)) + header + bytes(self.body))


class Reader(torch.nn.Module):
    def __init__(self, w):
        super().__init__()
        scales = w.get("embedding.scales", np.float32)
        self.words = torch.tensor(w.get("words", np.uint8).reshape(-1, HIDDEN).astype(np.float32) * scales[0])
        self.places = torch.tensor(w.get("positions", np.uint8).reshape(-1, HIDDEN).astype(np.float32) * scales[1])
        self.kinds = torch.tensor(w.get("kind", np.uint8).reshape(-1, HIDDEN).astype(np.float32) * scales[2])
        self.linears, self.norms = torch.nn.ModuleDict(), torch.nn.ModuleDict()
        self.norm(w, "embedded")
        for i in range(LAYERS):
            for part, a, b in (("attend", HIDDEN, 3 * HIDDEN), ("project", HIDDEN, HIDDEN), ("expand", HIDDEN, INNER), ("contract", INNER, HIDDEN)):
                self.linear(w, f"layer.{i}.{part}", a, b)
            self.norm(w, f"layer.{i}.attended")
            self.norm(w, f"layer.{i}.done")
        self.linear(w, "pooled", HIDDEN, HIDDEN)
        self.score = torch.nn.Linear(HIDDEN, 1)
        self.score.weight.data = torch.tensor(w.get("score.weights", np.float32).copy())[None]
        self.score.bias.data = torch.tensor(w.get("score.bias", np.float32).copy())

    def linear(self, w, name, inputs, outputs):
        layer = torch.nn.Linear(inputs, outputs)
        matrix, bias = w.linear(name, inputs, outputs)
        layer.weight.data, layer.bias.data = torch.tensor(matrix), torch.tensor(bias)
        self.linears[name.replace(".", "_")] = layer

    def norm(self, w, name):
        layer = torch.nn.LayerNorm(HIDDEN, eps=1e-12)
        layer.weight.data, layer.bias.data = torch.tensor(w.get(name + ".gain", np.float32).copy()), torch.tensor(w.get(name + ".bias", np.float32).copy())
        self.norms[name.replace(".", "_")] = layer

    def lower(self, ids, kinds, mask, layers):
        """The states after the first layers, which are not trained."""
        with torch.no_grad():
            x = self.words[ids] + self.places[: ids.shape[1]] + self.kinds[kinds]
            x = self.norms["embedded"](x)
            return self.between(x, mask, range(layers))

    def kept(self, tokenizer, pairs, layers, known):
        """The same for some pairs, with a mask of their tokens. What was worked out before is in known, in half precision."""
        new = [p for p in pairs if p not in known]
        if new:
            ids, kinds, mask = tensors(tokenizer, new)
            for p, states, n in zip(new, self.lower(ids, kinds, mask, layers), mask.sum(1).tolist()):
                known[p] = states[:n].half()
        mask = torch.zeros(len(pairs), max(len(known[p]) for p in pairs), dtype=torch.bool)
        x = torch.zeros(*mask.shape, HIDDEN)
        for i, p in enumerate(pairs):
            x[i, : len(known[p])], mask[i, : len(known[p])] = known[p], True
        return x, mask

    def between(self, x, mask, layers, drop=0.0):
        n, length, _ = x.shape
        bias = torch.where(mask[:, None, None, :], 0.0, -1e9)
        for i in layers:
            q, k, v = self.linears[f"layer_{i}_attend"](x).view(n, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=drop).transpose(1, 2).reshape(n, length, HIDDEN)
            x = self.norms[f"layer_{i}_attended"](x + F.dropout(self.linears[f"layer_{i}_project"](mixed), drop))
            wide = F.gelu(self.linears[f"layer_{i}_expand"](x))
            x = self.norms[f"layer_{i}_done"](x + F.dropout(self.linears[f"layer_{i}_contract"](wide), drop))
        return x

    def head(self, x, drop=0.0):
        return self.score(F.dropout(torch.tanh(self.linears["pooled"](x[:, 0])), drop))[:, 0]


def tokenizer_of(w):
    vocabulary = w.get("vocabulary", np.uint8).tobytes().decode().rstrip("\n").split("\n")
    t = Tokenizer(models.WordPiece({p: i for i, p in enumerate(vocabulary)}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    ids = {p: i for i, p in enumerate(vocabulary)}
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])])
    t.enable_truncation(LONGEST, strategy="only_second")
    t.enable_padding(pad_id=ids["[PAD]"])
    return t


def load(paths):
    """The questions of some files; one that stands in several has the blocks of all."""
    known = {}
    for line in (line for p in paths for line in open(p) if line.strip()):
        q = json.loads(line)
        if q["question"] not in known:
            known[q["question"]] = q
        else:
            old = known[q["question"]]["blocks"]
            texts = {b["text"] for b in old}
            old += [b for b in q["blocks"] if b["text"] not in texts]
    return list(known.values())


def tensors(tokenizer, pairs):
    enc = tokenizer.encode_batch(pairs)
    return torch.tensor([e.ids for e in enc]), torch.tensor([e.type_ids for e in enc]), torch.tensor([e.attention_mask for e in enc]).bool()


def right(b):
    return b["right"] > 0.49


@torch.no_grad()
def scored(model, tokenizer, questions, trained_from):
    model.eval()
    for q in questions:
        ids, kinds, mask = tensors(tokenizer, [(q["question"], b["text"]) for b in q["blocks"]])
        s = model.head(model.between(model.lower(ids, kinds, mask, trained_from), mask, range(trained_from, LAYERS)))
        for b, v in zip(q["blocks"], s.tolist()):
            b["now"] = v


def hard(blocks, n):
    """Some of the blocks that do not answer: those that the reader thought likeliest, and others with many words of the question."""
    by_reader = sorted(blocks, key=lambda b: -b.get("now", 0))[: n * 2 // 3 if any("now" in b for b in blocks) else 0]
    by_words = sorted((b for b in blocks if b not in by_reader), key=lambda b: -b["score"])[:16]
    return by_reader + random.sample(by_words, min(len(by_words), n - len(by_reader)))


def squash(s):
    return s / 20 + 0.5


def measure(name, questions, weight=4.0):
    alone = beside = possible = 0
    tops = []
    for q in questions:
        can = any(right(b) for b in q["blocks"])
        best = max(q["blocks"], key=lambda b: b["now"])
        both = max(q["blocks"], key=lambda b: b["score"] + weight * squash(b["now"]))
        if q["answerable"]:
            possible += can
            alone += right(best)
            beside += right(both)
        tops.append((both["now"], right(both)))
    good, bad = [s for s, r in tops if r], [s for s, r in tops if not r]
    area = np.mean([(g > np.array(bad)).mean() for g in good]) if good and bad else 0
    print(f"{name}: best block right {alone} alone, {beside} beside the words, of {possible} possible; area {area:.3f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weights"), p.add_argument("out"), p.add_argument("pairs", nargs="*")
    p.add_argument("--held", nargs="*", default=[])
    p.add_argument("--from-layer", type=int, default=6)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--rate", type=float, default=4e-5)
    p.add_argument("--blocks", type=int, default=7)
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--reference", action="store_true")
    o = p.parse_args()
    random.seed(1), torch.manual_seed(1)
    w = Weights(o.weights)
    if o.reference:
        return refer(Reader(w), o.out)
    tokenizer, model = tokenizer_of(w), Reader(w)
    train = [q for q in load(o.pairs) if not q["answerable"] or any(right(b) for b in q["blocks"])]
    held = {h: load([h]) for h in o.held}
    for h, qs in held.items():
        scored(model, tokenizer, qs, o.from_layer)
        measure("before " + h, qs)
    if not train:
        return
    trained = [v for n, v in model.named_parameters() if n.startswith(("score", "linears.pooled")) or n.split(".")[1].startswith("layer_") and int(n.split("_")[1]) >= o.from_layer]
    first = [v.detach().clone() for v in trained]
    optimizer = torch.optim.AdamW(trained, lr=o.rate, weight_decay=0.01)
    batch = 6
    steps = o.epochs * len(train) // batch
    began, step, losses, known = time.time(), 0, [], {}
    for epoch in range(o.epochs):
        random.shuffle(train)
        for at in range(0, len(train) - batch + 1, batch):
            pairs, spans = [], []
            for q in train[at : at + batch]:
                good = [b for b in q["blocks"] if right(b)]
                chosen = random.sample(good, min(2, len(good)))
                chosen += hard([b for b in q["blocks"] if b["right"] == 0], o.blocks - len(chosen))
                spans.append((len(pairs), len(pairs) + len(chosen), chosen))
                pairs += [(q["question"], b["text"]) for b in chosen]
            share = max(step / max(1, steps), (time.time() - began) / 60 / o.minutes)
            for g in optimizer.param_groups:
                g["lr"] = o.rate * min(1, (step + 1) / 30) * max(0.02, 1 - share)
            order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
            s = [None] * len(pairs)
            for part in range(0, len(order), 12): # texts of like length, so that little is padding
                some = order[part : part + 12]
                x, mask = model.kept(tokenizer, [pairs[i] for i in some], o.from_layer, known)
                for i, v in zip(some, model.head(model.between(x, mask, range(o.from_layer, LAYERS), 0.1), 0.1)):
                    s[i] = v
            s = torch.stack(s)
            loss = 0
            for a, b, chosen in spans:
                y = torch.tensor([float(right(c)) for c in chosen])
                if y.sum() > 0:
                    loss = loss - torch.log((torch.softmax(s[a:b], 0) * y).sum() + 1e-9)
                loss = loss + F.binary_cross_entropy_with_logits(s[a:b] / 2, y)
            (loss / len(spans)).backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item() / len(spans))
            step += 1
            if step % 20 == 0:
                print(f"epoch {epoch} step {step} of {steps}, {time.time() - began:.0f} s, loss {np.mean(losses[-20:]):.3f}", flush=True)
            if share >= 1:
                break
        for h, qs in held.items():
            scored(model, tokenizer, qs, o.from_layer)
            measure(f"epoch {epoch} {h}", qs)
    last = [v.detach().clone() for v in trained]
    for mix in (1.0, 0.75, 0.5):
        for v, a, b in zip(trained, first, last):
            v.data = a + mix * (b - a)
        if mix < 1:
            for h, qs in held.items():
                scored(model, tokenizer, qs, o.from_layer)
                measure(f"mixed {mix} {h}", qs)
        save(w, model, o.from_layer, o.out.replace(".bin", f"-{mix}.bin"))


def save(w, model, from_layer, path):
    for i in range(from_layer, LAYERS):
        for part in ("attend", "project", "expand", "contract"):
            layer = model.linears[f"layer_{i}_{part}"]
            w.put_linear(f"layer.{i}.{part}", layer.weight.detach().numpy(), layer.bias.detach().numpy())
        for part in ("attended", "done"):
            norm = model.norms[f"layer_{i}_{part}"]
            w.put(f"layer.{i}.{part}.gain", norm.weight.detach().numpy())
            w.put(f"layer.{i}.{part}.bias", norm.bias.detach().numpy())
    pooled = model.linears["pooled"]
    w.put_linear("pooled", pooled.weight.detach().numpy(), pooled.bias.detach().numpy())
    w.put("score.weights", model.score.weight.detach().numpy())
    w.put("score.bias", model.score.bias.detach().numpy())
    w.write(path)


@torch.no_grad()
def refer(model, path):
    model.eval()
    cases = json.load(open(path))
    for c in cases:
        ids = torch.tensor([c["tokens"]])
        kinds = (torch.arange(ids.shape[1]) >= c["second"]).long()[None]
        x = model.lower(ids, kinds, torch.ones_like(ids).bool(), LAYERS)
        c["score"] = round(model.head(x).item(), 4)
    open(path, "w").write("[" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "]\n")


if __name__ == "__main__":
    main()
