// Access to documents and folders, and the members and instructions of a collection. The server decides who may
// change them.
import { useEffect, useState } from "preact/hooks";
import { send, toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { changed } from "../jobs.ts";
import { rights, type RightsOf } from "../library.ts";
import { Dialog, Icon, IconButton, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { collectionName } from "./namespace.tsx";

const s = strings.rights;

/** AccessList says who may see something: everybody, everybody who is signed in, or the named users and groups. */
interface AccessList {
  users?: string[];
  groups?: string[];
  everybody?: "public" | "signed_in";
}

interface Rule extends AccessList {
  document?: string;
  folder?: string;
}

interface DocumentRights {
  owner?: string;
  access: AccessList;
  from: "files" | "document" | "folder";
  folder?: string;
}

const memberRoles = ["reader", "editor", "owner"] as const;

interface Member {
  user?: string;
  group?: string;
  role: (typeof memberRoles)[number];
}

export function RightsDialog() {
  const of = useCell(rights);
  if (!of) return null;
  const title = of.kind === "document" ? s.documentTitle(of.title) : s[`${of.kind}Title`](collectionName(of.namespace));
  return (
    <Dialog title={title} onClose={() => (rights.value = null)} class="confirm rights">
      {of.kind === "document" && <OneDocument of={of} />}
      {of.kind === "folders" && <Folders namespace={of.namespace} />}
      {of.kind === "members" && <Members namespace={of.namespace} />}
      {of.kind === "instructions" && <Instructions namespace={of.namespace} />}
    </Dialog>
  );
}

/** Saving is the state of saving a form: the error, if any, whether it is saved, and a callback for when it is edited. */
interface Saving {
  wrong: string;
  saved: boolean;
  touched: () => void;
}

/** Loads a path of the collection. `change` changes it and loads it again; it resolves to false on failure. */
function useResource<T>(path: string): { value: T | null; saving: Saving; change: (method: "PUT" | "DELETE", query: string, body?: unknown) => Promise<boolean> } {
  const [value, setValue] = useState<T | null>(null);
  const [wrong, setWrong] = useState("");
  const [saved, setSaved] = useState(false);
  const [again, setAgain] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    send(path, { signal: gone.signal }).then((r) => r.json()).then((v: T) => setValue(v), (e) => gone.signal.aborted || setWrong(toApiError(e).message));
    return () => gone.abort();
  }, [path, again]);
  const change = async (method: "PUT" | "DELETE", query: string, body?: unknown) => {
    try {
      await send(path.replace(/\?.*/, "") + query, { method, ...(body ? { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {}) });
      setWrong("");
      setSaved(method === "PUT");
      setAgain((n) => n + 1);
      changed.value++;
      return true;
    } catch (e) {
      setWrong(toApiError(e).message);
      return false;
    }
  };
  return { value, saving: { wrong, saved, touched: () => setSaved(false) }, change };
}

const pathOf = (namespace: string, what: "access" | "members" | "instructions") => `/api/namespaces/${encodeURIComponent(namespace)}/${what}`;
const Wrong = ({ text }: { text: string }) => <p class="bad" role="alert" dir="auto">{text}</p>;

function OneDocument({ of }: { of: Extract<RightsOf, { kind: "document" }> }) {
  const query = `?document=${encodeURIComponent(of.name)}`;
  const { value, saving, change } = useResource<DocumentRights>(pathOf(of.namespace, "access") + query);
  if (!value) return saving.wrong ? <Wrong text={saving.wrong} /> : <Spinner label={strings.working} />;
  const save = (list: AccessList) => change("PUT", "", { document: of.name, ...list });
  return (
    <>
      <p class="soft-note">{value.from === "folder" ? s.fromFolder(value.folder ?? "/") : s.from[value.from]}</p>
      <ListForm key={JSON.stringify(value)} list={value.access} save={save} saving={saving} />
      {value.from === "document" && <p><button type="button" class="quiet" onClick={() => void change("DELETE", query)}><Icon name="retry" />{s.reset}</button></p>}
    </>
  );
}

const linesOf = (text: string) => [...new Set(text.split("\n").map((l) => l.trim()).filter(Boolean))];

/** A form for an access list. `fold` is shown above the fields. */
function ListForm({ list, save, saving, fold }: { list: AccessList; save: (list: AccessList) => Promise<boolean>; saving: Saving; fold?: preact.ComponentChildren }) {
  const [who, setWho] = useState<"public" | "signed_in" | "named">(list.everybody ?? "named");
  const [users, setUsers] = useState((list.users ?? []).join("\n"));
  const [groups, setGroups] = useState((list.groups ?? []).join("\n"));
  const nobody = who === "named" && linesOf(users).length + linesOf(groups).length === 0;
  const submit = (event: Event) => {
    event.preventDefault();
    void save(who === "named" ? { users: linesOf(users), groups: linesOf(groups) } : { everybody: who });
  };
  return (
    <form onSubmit={submit} onInput={saving.touched}>
      {fold}
      <fieldset class="choices">
        <legend>{s.who}</legend>
        {(["public", "signed_in", "named"] as const).map((w) => (
          <label key={w}><input type="radio" name="who" checked={who === w} onChange={() => setWho(w)} /> {s.whos[w]}</label>
        ))}
      </fieldset>
      {who === "named" && (
        <>
          <label class="field"><span>{s.users}</span><textarea rows={3} value={users} dir="auto" spellcheck={false} onInput={(e) => setUsers(e.currentTarget.value)} /></label>
          <label class="field"><span>{s.groups}</span><textarea rows={2} value={groups} dir="auto" spellcheck={false} onInput={(e) => setGroups(e.currentTarget.value)} /></label>
        </>
      )}
      <Wrong text={saving.wrong} />
      <div class="dialog-actions">
        <span role="status" class="soft">{saving.saved && s.saved}</span>
        <button type="submit" class="primary" disabled={nobody}>{s.save}</button>
      </div>
    </form>
  );
}

/** Returns an access list in words. */
const described = (l: AccessList): string => (l.everybody ? s.whos[l.everybody] : [...(l.users ?? []), ...(l.groups ?? []).map(s.group)].join(", "));

function Folders({ namespace }: { namespace: string }) {
  const { value, saving, change } = useResource<{ rules: Rule[] }>(pathOf(namespace, "access"));
  const [folder, setFolder] = useState("");
  if (!value) return saving.wrong ? <Wrong text={saving.wrong} /> : <Spinner label={strings.working} />;
  const queryOf = (r: Rule) => (r.folder !== undefined ? `?folder=${encodeURIComponent(r.folder)}` : `?document=${encodeURIComponent(r.document ?? "")}`);
  const nameOf = (r: Rule) => (r.folder === "/" ? s.whole : (r.folder ?? r.document ?? ""));
  return (
    <>
      <p>{s.foldersText}</p>
      <ul class="rules">
        {value.rules.map((r) => (
          <li key={queryOf(r)}>
            <Icon name="files" />
            <span><b dir="auto">{nameOf(r)}</b><small dir="auto">{described(r)}</small></span>
            <IconButton icon="trash" label={s.remove(nameOf(r))} onClick={() => void change("DELETE", queryOf(r))} />
          </li>
        ))}
      </ul>
      {value.rules.length === 0 && <p class="soft-note">{s.noRules}</p>}
      <ListForm key={value.rules.length} list={{}} saving={saving} save={(list) => change("PUT", "", { folder: folder.trim(), ...list })}
        fold={<label class="field"><span>{s.folder}</span><input type="text" required value={folder} placeholder="/" dir="ltr" autocomplete="off" spellcheck={false} onInput={(e) => setFolder(e.currentTarget.value)} /></label>} />
    </>
  );
}

function Members({ namespace }: { namespace: string }) {
  const { value, saving: { wrong }, change } = useResource<{ open: boolean; members: Member[] }>(pathOf(namespace, "members"));
  const [kind, setKind] = useState<"user" | "group">("user");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Member["role"]>("reader");
  if (!value) return wrong ? <Wrong text={wrong} /> : <Spinner label={strings.working} />;
  const labelOf = (m: Member) => (m.group !== undefined ? s.group(m.group) : (m.user ?? ""));
  const queryOf = (m: Member) => (m.group !== undefined ? `?group=${encodeURIComponent(m.group)}` : `?user=${encodeURIComponent(m.user ?? "")}`);
  const add = async (event: Event) => {
    event.preventDefault();
    if (await change("PUT", "", { [kind]: name.trim(), role })) setName("");
  };
  return (
    <>
      <p>{value.open ? s.open : s.closed}</p>
      <ul class="rules">
        {value.members.map((m) => (
          <li key={queryOf(m)}>
            <Icon name="account" />
            <b dir="auto">{labelOf(m)}</b>
            <select aria-label={s.roleOf(labelOf(m))} value={m.role} onChange={(e) => void change("PUT", "", { ...m, role: e.currentTarget.value })}>
              {memberRoles.map((r) => <option key={r} value={r}>{s.roles[r].split(/\s?[:：]/)[0]}</option>)}
            </select>
            <IconButton icon="trash" label={s.remove(labelOf(m))} onClick={() => void change("DELETE", queryOf(m))} />
          </li>
        ))}
      </ul>
      <form onSubmit={(e) => void add(e)}>
        <label class="field"><span>{s.kind}</span><select value={kind} onChange={(e) => setKind(e.currentTarget.value as "user" | "group")}><option value="user">{s.kinds.user}</option><option value="group">{s.kinds.group}</option></select></label>
        <label class="field"><span>{s.name}</span><input type="text" value={name} dir="auto" autocomplete="off" spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label class="field"><span>{s.role}</span><select value={role} onChange={(e) => setRole(e.currentTarget.value as Member["role"])}>{memberRoles.map((r) => <option key={r} value={r}>{s.roles[r]}</option>)}</select></label>
        <Wrong text={wrong} />
        <div class="dialog-actions"><button type="submit" class="primary" disabled={!name.trim()}>{s.add}</button></div>
      </form>
    </>
  );
}

const longestInstructions = 8192; // bytes, the server's limit; maxLength counts UTF-16 units

/** The instructions that models get with questions to a collection. Whoever may ask the collection can read them; `instruct` says who may change them. */
function Instructions({ namespace }: { namespace: string }) {
  const { value, saving, change } = useResource<{ text: string }>(pathOf(namespace, "instructions"));
  const may = useCell(app.namespaces).some((n) => n.name === namespace && n.instruct);
  const [text, setText] = useState<string | null>(null);
  if (!value) return saving.wrong ? <Wrong text={saving.wrong} /> : <Spinner label={strings.working} />;
  const save = async (event: Event) => {
    event.preventDefault();
    await change("PUT", "", { text: text ?? value.text });
  };
  return (
    <>
      <p>{s.instructionsText}</p>
      {may ? (
        <form onSubmit={(e) => void save(e)} onInput={saving.touched}>
          <label class="field"><span>{s.instructionsField}</span><textarea rows={8} value={text ?? value.text} maxLength={longestInstructions} dir="auto" onInput={(e) => setText(e.currentTarget.value)} /></label>
          <Wrong text={saving.wrong} />
          <div class="dialog-actions">
            <span role="status" class="soft">{saving.saved && s.saved}</span>
            <button type="submit" class="primary" disabled={text === null || text.trim() === value.text}>{s.save}</button>
          </div>
        </form>
      ) : (
        <>
          {value.text ? <blockquote class="instructions" dir="auto">{value.text}</blockquote> : <p class="soft">{s.noInstructions}</p>}
          <p class="soft-note">{s.instructionsBy}</p>
        </>
      )}
    </>
  );
}
