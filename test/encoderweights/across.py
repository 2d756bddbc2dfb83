"""Writes questions in other languages than their documents with blocks that answer them and blocks that do not, for trainmany.py:

    python test/encoderweights/across.py across.jsonl test/answers/train/many/*.jsonl --blocks pairs.jsonl...

The blocks are those of the pairs, which are made of the same documents.
"""

import argparse, json, random, re

p = argparse.ArgumentParser()
p.add_argument("out"), p.add_argument("documents", nargs="+"), p.add_argument("--blocks", nargs="+")
o = p.parse_args()
random.seed(2)


def bare(text):
    return re.sub(r"\W+", "", text).lower()


END = 24  # letters at the end of a block by which its document is known
texts = {b["text"]: bare(b["text"]) for path in o.blocks for line in open(path) for b in json.loads(line)["blocks"]}
documents = [json.loads(line) for path in o.documents for line in open(path) if line.strip()]
of = {d["title"]: [t for t, letters in texts.items() if letters[-END:] and letters[-END:] in bare(d["doc"])] for d in documents}
with open(o.out, "w") as out:
    for d in documents:
        for q in d["across"]:
            beginnings = [bare(a) for a in q["a"]]
            blocks = [{"text": t, "right": float(any(b in texts[t] for b in beginnings)), "score": 0} for t in of[d["title"]]]
            good, bad = [b for b in blocks if b["right"]], [b for b in blocks if not b["right"]]
            if not good:
                continue
            other = of[random.choice([e for e in documents if e is not d])["title"]][:20]
            for answerable, some in ((True, good[:3] + random.sample(bad, min(30, len(bad)))), (False, [{"text": t, "right": 0, "score": 0} for t in other])):
                if some and (answerable or random.random() < 0.4):
                    out.write(json.dumps({"question": q["q"], "answerable": answerable, "blocks": some}, ensure_ascii=False) + "\n")
