// The chat that other web sites show in a frame. Visitors can only ask, and their requests carry no cookies.
import { render } from "preact";
import { strangers } from "../reach.ts";
import { Chat } from "./chat.tsx";
import { inkOn, isColor } from "./color.ts";
import "../styles/embed-page.css";

const query = new URLSearchParams(location.search);

/** Returns an option set by the embedding page, at most 200 characters. */
const given = (name: string): string => (query.get(name) ?? "").slice(0, 200);

strangers();
if (given("theme") === "light" || given("theme") === "dark") document.documentElement.dataset["theme"] = given("theme");
if (isColor(given("color"))) {
  document.documentElement.style.setProperty("--brand", given("color"));
  document.documentElement.style.setProperty("--on-brand", inkOn(given("color")));
}
render(
  <Chat collection={given("collection")} title={given("title")} greeting={given("greeting")} closable={query.has("closable")} />,
  document.getElementById("app")!,
);
