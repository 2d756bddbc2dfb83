"""Collects headings and paragraphs of LibreOffice's help, which say the same in sixteen languages, for trainmany.py:

    for l in en-us de fr es it pt-br nl pl sv ru zh-cn zh-tw ja ko tr cs; do
        apt-get download libreoffice-help-$l && dpkg-deb -x libreoffice-help-${l}_*.deb help/$l
    done
    python test/encoderweights/aligned.py help aligned.json

The result is a list of queries (headings and keywords) with some paragraphs each; all are maps from language to text. The texts are under the
Mozilla Public License 2.0, and none of them is part of the program or of this repository.
"""

import collections, html, json, os, random, re, sys

LANGUAGES = ["en-US", "de", "fr", "es", "it", "pt-BR", "nl", "pl", "sv", "ru", "zh-CN", "zh-TW", "ja", "ko", "tr", "cs"]
LEAST = 8  # languages in which a text must be there
element = re.compile(r'<(h[1-6]|p|td|li)\b[^>]*?id="([^"]+)"[^>]*>(.*?)</\1>', re.S)
keyword = re.compile(r'<meta itemprop="keywords" content="([^"]*)"')
word = re.compile(r"[a-z]{3,}")


def plain(markup):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", markup))).strip()


def pages(folder):
    """The elements of each page by id, and its keywords, in each language."""
    found = {}
    for language in LANGUAGES:
        base = f"{folder}/{language.lower()}/usr/share/libreoffice/help/{language}/text"
        for root, _, files in os.walk(base):
            for name in files:
                if name.endswith(".html"):
                    path = os.path.join(root, name)
                    text = open(path, encoding="utf-8").read()
                    elements = {}
                    for kind, id, body in element.findall(text[text.find('id="DisplayArea"') :]):
                        if plain(body):
                            elements.setdefault(id, (kind, plain(body)))
                    found.setdefault(os.path.relpath(path, base), {})[language] = elements, [plain(k) for k in keyword.findall(text)]
    return found


def translated(by, text, of):
    """The text that `of` finds in each language; what is the same as in English was not translated."""
    all = {language: of(page) for language, page in by.items()}
    all = {language: s for language, s in all.items() if s and (language == "en-US" or s != text)}
    return all if len(all) >= LEAST else None


random.seed(3)
queries, paragraphs, of_page = [], [], collections.defaultdict(list)
for path, by in sorted(pages(sys.argv[1]).items()):
    if "en-US" not in by:
        continue
    elements, keywords = by["en-US"]
    for id, (kind, text) in elements.items():
        all = translated(by, text, lambda page: page[0].get(id, ("", ""))[1])
        if all and kind.startswith("h") and 2 < len(text) < 90:
            queries.append((all, path))
        elif all and not kind.startswith("h") and 40 < len(text) < 500:
            of_page[path].append(len(paragraphs))
            paragraphs.append((all, path))
    for i, text in enumerate(keywords):
        all = translated(by, text, lambda page: page[1][i] if len(page[1]) == len(keywords) else "")
        if all and i % 2 == 0:
            queries.append(({language: s.replace(", ", " ").replace(";", " ") for language, s in all.items()}, path))
having = collections.defaultdict(list)  # paragraphs that have a word
for i, (all, _) in enumerate(paragraphs):
    for w in set(word.findall(all["en-US"].lower())):
        having[w].append(i)
random.shuffle(queries)
seen, out = set(), []
for query, path in queries:
    text = query["en-US"].lower()
    own = of_page[path]
    if text in seen or not own:
        continue
    seen.add(text)
    chosen = random.sample(own[:6], min(3, len(own[:6]))) + random.sample(own, 1)
    near = collections.Counter()
    for w in sorted({w for w in word.findall(text) if w in having}, key=lambda w: (len(having[w]), w))[:3]:
        for i in random.sample(having[w], min(60, len(having[w]))):
            near[i] += 1 / len(having[w]) ** 0.5
    chosen += [i for i, _ in near.most_common(12) if paragraphs[i][1] != path][:4] + [random.randrange(len(paragraphs))]
    chosen = list(dict.fromkeys(chosen))
    if len(chosen) >= 4:
        out.append({"query": query, "paragraphs": [paragraphs[i][0] for i in chosen]})
json.dump(out, open(sys.argv[2], "w"), ensure_ascii=False)
print(len(out), "queries with", sum(len(o["paragraphs"]) for o in out), "paragraphs")
