// Signing in and out, and the name of the user.
import { useEffect } from "preact/hooks";
import * as app from "../app.ts";
import { api } from "../api.ts";
import { useCell } from "../cell.ts";
import { Icon } from "../parts/controls.tsx";
import { signInPath } from "../reach.ts";
import { strings } from "../strings.ts";

export function Account() {
  const me = useCell(app.me);
  useEffect(() => {
    api.me().then((m) => (app.me.value = m), () => (app.me.value = null)); // an unknown caller is not shown
  }, []);
  if (me?.can_sign_in) {
    return <li><a href={signInPath()}><Icon name="account" />{strings.account.signIn}</a></li>;
  }
  if (!me?.session) return null;
  const leave = () => {
    api.signOut().then((to) => location.assign(to), () => app.tell(strings.account.notSignedOut, true));
  };
  return (
    <li>
      <button type="button" class="place" title={me.name || me.subject} onClick={leave}>
        <Icon name="account" /><span class="place-text">{strings.account.signOut(me.name || me.subject)}</span>
      </button>
    </li>
  );
}
