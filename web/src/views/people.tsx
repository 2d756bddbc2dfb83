// Administration: the people about whom the server stores data.
import { useState } from "preact/hooks";
import { send, toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { Confirm } from "../parts/confirm.tsx";
import { EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { AdminTable, Failed, readJSON, useAnswer } from "./adminparts.tsx";

const s = strings.admin;

export function PeopleTab() {
  const [again, setAgain] = useState(0);
  const [removing, setRemoving] = useState("");
  const me = useCell(app.me); // the caller's own row has no Delete button, to prevent mistakes
  const { value, error } = useAnswer("/api/users", readJSON<{ users: string[] }>, again);
  const remove = async (user: string) => {
    try {
      await send(`/api/users?user=${encodeURIComponent(user)}`, { method: "DELETE" });
    } catch (e) {
      app.tell(toApiError(e).message, true);
    }
    setAgain((n) => n + 1);
  };
  if (error) return <Failed error={error} />;
  if (!value) return <Spinner label={strings.working} />;
  return (
    <>
      <p class="soft-note">{s.peopleText} <a href="#/documents">{s.toMembers}</a></p>
      {value.users.length === 0 ? <EmptyState icon="account" title={s.noPeople} /> : (
        <AdminTable label={s.tabs.people}>
          <thead><tr><th scope="col">{s.name}</th><th scope="col"><span class="offscreen">{strings.documents.actionsHead}</span></th></tr></thead>
          <tbody>
            {value.users.map((user) => (
              <tr key={user}>
                <th scope="row" dir="auto">{user}</th>
                <td class="row-actions">
                  <a class="button small" href={`/api/users/export?user=${encodeURIComponent(user)}`} download="user.zip" aria-label={s.exportTitle(user)}><Icon name="download" />{s.export}</a>
                  {user !== me?.subject && <button type="button" class="danger small" aria-label={s.removeTitle(user)} onClick={() => setRemoving(user)}>{strings.sidebar.remove}</button>}
                </td>
              </tr>
            ))}
          </tbody>
        </AdminTable>
      )}
      {removing && <Confirm title={s.removeTitle(removing)} text={s.removeText} action={strings.sidebar.remove} close={() => setRemoving("")} run={() => remove(removing)} />}
    </>
  );
}
