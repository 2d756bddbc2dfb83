"""Makes corpora, as test/answers/README.md describes them, from documents with questions in test/answers/train:

    python test/encoderweights/corpora.py FOLDER SIZE test/answers/train/*.jsonl

Each corpus has SIZE documents: with 1, blocks that do not answer come from the same document; with 18, from others too.
The documents are shuffled, the same way each time.
"""

import json, os, random, re, sys


def pattern(beginning):
    """What matches a beginning in a block, where the heads of a table's columns stand between the cells of a row."""
    cells = [re.findall(r"\w+", c) for c in beginning.split("|")]
    return r"\W+(?:\w+\W+){0,12}?".join(r"\W+".join(map(re.escape, c)) for c in cells if c)


folder, size = sys.argv[1], int(sys.argv[2])
documents = [json.loads(line) for file in sorted(sys.argv[3:]) for line in open(file) if line.strip()]
random.seed(7)
random.shuffle(documents)
for at in range(0, len(documents), size):
    corpus = f"{folder}/{at // size:03d}"
    os.makedirs(corpus + "/docs")
    with open(corpus + "/facts.jsonl", "w") as facts:
        for i, d in enumerate(documents[at : at + size]):
            open(f"{corpus}/docs/d{i:02d}.md", "w").write(d["doc"].strip() + "\n")
            rows = [(q["q"], {"type": "number", "facts": ["(?:" + "|".join(map(pattern, q["a"])) + ")"], "gold": [f"d{i:02d}.md"]}) for q in d["questions"]]
            rows += [(q, {"type": "unanswerable"}) for q in d["none"]]
            for j, (question, row) in enumerate(rows):
                facts.write(json.dumps({"id": f"d{i:02d}-{j}", "language": d.get("lang", "en"), "question": question} | row) + "\n")
