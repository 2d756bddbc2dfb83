// The choice of the model that writes answers, with names and prices.
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { Icon } from "../parts/controls.tsx";
import { Popup } from "../parts/popup.tsx";
import { answering, listed, loadModels, modelName, wordsOf } from "../models.ts";
import { choices, setModel } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.models;

export function ModelButton() {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  useCell(listed);
  if (!config) return null;
  const current = chosen.models.inference || config.model;
  return (
    <Popup label={s.label} icon="bulb" text={modelName(current)} class="model" onOpen={loadModels}>
      {(close) => (
        <ul class="model-list">
          {answering(config).map((key) => {
            const words = wordsOf(key);
            return (
              <li key={key}>
                <button type="button" aria-pressed={key === current} onClick={() => { setModel("inference", key === config.model ? "" : key); close(); }}>
                  <span class="model-name">{words.name}{key === current && <Icon name="check" />}</span>
                  <small>{[words.note, words.price].filter(Boolean).join(" · ")}</small>
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </Popup>
  );
}
