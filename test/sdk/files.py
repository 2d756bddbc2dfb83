"""Drives files, a vector store and an answer from it with OpenAI's client for Python, by hand:

    python3 files.py BASE_URL FILE QUESTION
"""

import json
import sys

from openai import OpenAI

base_url, path, question = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key="not-needed", max_retries=0)
with open(path, "rb") as f:
    file = client.files.create(file=f, purpose="assistants")
store = client.vector_stores.create(name="By hand")
member = client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id, attributes={"year": 2026})
filters = {"type": "eq", "key": "year", "value": 2026}
found = client.vector_stores.search(store.id, query=question, filters=filters)
tools = [{"type": "file_search", "vector_store_ids": [store.id], "filters": filters}]
answer = client.responses.create(model="parley", input=question, tools=tools, include=["file_search_call.results"])
print(
    json.dumps(
        {
            "status": member.status,
            "files": [f.id for f in client.vector_stores.files.list(store.id, limit=1)],
            "found": [(r.filename, r.file_id, r.model_extra) for r in found],
            "answer": answer.output_text,
            "cited": [a.model_dump() for a in answer.output[-1].content[0].annotations],
            "dimensions": len(client.embeddings.create(model="parley", input=question).data[0].embedding),
            "store": client.vector_stores.retrieve(store.id).file_counts.model_dump(),
            "deleted": [client.vector_stores.delete(store.id).deleted, client.files.delete(file.id).deleted],
        },
        indent=1,
    )
)
