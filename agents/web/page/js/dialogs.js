// The dialogs: new game, open, share.

import { ask } from "./api.js";
import { byId, complain, make } from "./dom.js";
import { SIDES, YOU } from "./game.js";
import { playersFor } from "./panel.js";
import { upper } from "./words.js";

/** A control with its label. */
function labelled(text, control) {
  control.setAttribute("aria-label", text); // the name alone, without the options
  return make("label", {}, make("span", {}, text), control);
}

/** Whether a pointer is on the backdrop of a dialog; its own padding and gaps are no backdrop. */
function isBeside(dialog, { target, clientX, clientY }) {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return target === dialog && (clientX < left || clientX > right || clientY < top || clientY > bottom);
}

export class Dialogs {
  /** `battle` returns the rules and seats to propose: those of the last battle that was no lesson. */
  constructor(world, game, battle) {
    this.world = world;
    this.game = game;
    this.battle = battle;
    byId("new").addEventListener("click", () => this.#begin());
    byId("open").addEventListener("click", () => this.#open());
    byId("share").addEventListener("click", () => this.#share().catch(complain));
    for (const dialog of document.querySelectorAll("dialog")) {
      let beside = false; // whether the pointer was pressed beside it
      dialog.addEventListener("pointerdown", (event) => (beside = isBeside(dialog, event)));
      dialog.addEventListener("click", (event) => {
        if (beside && isBeside(dialog, event)) dialog.close();
      });
    }
  }

  #show(id, title, ...content) {
    const dialog = byId(`${id}-dialog`);
    dialog.replaceChildren(
      make("header", {},
        make("h2", { id: `${id}-title` }, title),
        make("button", { "aria-label": "Close", class: "plain", onclick: () => dialog.close() }, "✕")),
      ...content,
    );
    dialog.showModal();
    return dialog;
  }

  /** A choice of the game. */
  #rules(attributes = {}) {
    const { rules } = this.battle();
    return make("select", attributes, ...this.world.rulesets.map(({ name, title }) =>
      make("option", { value: name, selected: name === (rules?.name ?? rules) }, title)));
  }

  #begin() {
    const { world, game } = this;
    const { seats: before } = this.battle();
    const rules = this.#rules({ name: "rules", autofocus: true }); // not the cross, which closes
    const seats = Object.fromEntries(SIDES.map((side) => [side, make("div", { class: "players", role: "radiogroup", "aria-label": upper(side) })]));
    const fill = () => {
      for (const side of SIDES) {
        const chosen = seats[side].querySelector(":checked")?.value ?? before[side];
        const players = [{ spec: YOU, name: "You", line: "a person at this board" }, ...playersFor(world, rules.value)];
        const known = players.some(({ spec }) => spec === chosen) ? chosen : YOU;
        seats[side].replaceChildren(...players.map(({ spec, name, line }) =>
          make("label", { class: "player" },
            make("input", { type: "radio", name: side, value: spec, checked: spec === known }),
            make("span", {}, make("b", {}, name), make("small", {}, line)))));
        const { parentElement } = seats[side].querySelector(":checked");
        seats[side].scrollTop = parentElement.offsetTop - seats[side].clientHeight / 2;
      }
    };
    const aim = make("p", { class: "quiet", id: "new-aim" });
    rules.setAttribute("aria-describedby", "new-aim");
    const tell = () => (aim.textContent = world.rulesets.find(({ name }) => name === rules.value).aim);
    tell();
    rules.addEventListener("change", () => {
      fill();
      tell();
    });
    const match = make("input", { type: "checkbox", name: "match" });
    const agreement = make("input", { type: "checkbox", name: "agreement", checked: true });
    const form = make("form", { method: "dialog" },
      make("div", {}, labelled("Game", rules), aim),
      make("div", { class: "sides" },
        ...SIDES.map((side) => make("fieldset", {}, make("legend", {}, upper(side)), seats[side]))),
      make("label", { class: "check" }, match, "A whole game: two battles, sides changed between them"),
      make("label", { class: "check" }, agreement, "The players may agree to end a battle"),
      make("menu", {}, make("button", { class: "primary", value: "begin" }, "Begin")));
    const dialog = this.#show("new", "New game", form);
    fill(); // now that there is room to scroll to those who are chosen
    form.addEventListener("submit", () => {
      const chosen = Object.fromEntries(SIDES.map((side) => [side, seats[side].querySelector(":checked").value]));
      game.begin({
        leaves: true,
        rules: rules.value,
        limits: { agreement: agreement.checked },
        seats: chosen,
        match: match.checked ? { first: null } : null,
      }).catch(complain);
      dialog.close();
    });
  }

  #open() {
    const text = make("textarea", { rows: "8", required: true, spellcheck: "false", placeholder: "dF1,dG1,...,RH8\ndF1-F5\n..." });
    const file = make("input", { type: "file", accept: ".thud,text/plain", autofocus: true });
    const rules = this.#rules();
    const wrong = make("p", { class: "wrong", role: "alert" });
    file.addEventListener("change", async () => {
      if (file.files[0]) text.value = await file.files[0].text();
    });
    const form = make("form", { method: "dialog" },
      make("p", {}, "A record (a .thud file), or the text of a position."),
      labelled("From a file", file),
      labelled("Or pasted here", text),
      labelled("Of a position: by the rules of", rules),
      wrong,
      make("menu", {}, make("button", { class: "primary" }, "Open")));
    const dialog = this.#show("open", "Open a battle", form);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await this.load(text.value, rules.value);
        dialog.close();
      } catch (error) {
        wrong.textContent = error.message;
      }
    });
  }

  /** Open a record, or a position by some rules. */
  async load(text, rules) {
    const { game } = this;
    const seats = { dwarfs: YOU, trolls: YOU };
    if (/^[^\s,"]+\/\S*( |$)/.test(text.trim())) {
      await game.begin({ leaves: true, rules, limits: { agreement: true }, position: text.trim(), seats });
    } else {
      await this.#openRecord(text, seats);
    }
  }

  async #openRecord(text, seats) {
    const record = await ask("load", { text });
    const { agreement, max_quiet_turns, max_turns, offer_after } = record;
    await this.game.begin({
      leaves: true,
      rules: record.rules,
      limits: { agreement, max_quiet_turns, max_turns, offer_after },
      position: record.positions[0],
      positions: record.positions,
      turns: record.turns,
      seats,
      players: Object.fromEntries(SIDES.map((side) => [side, record.tags[upper(side)] ?? ""])),
    });
  }

  /** Begin the battle that the address names, if any. */
  async follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (!["rules", "position", ...SIDES].some((name) => asked.has(name))) return false;
    const limits = { agreement: asked.get("agreement") === "yes" };
    for (const name of ["max_quiet_turns", "max_turns", "offer_after"]) {
      if (asked.has(name)) limits[name] = Number(asked.get(name));
    }
    const seat = (side) => {
      const player = asked.get(side) || YOU;
      if (player === YOU || this.world.players.some(({ spec }) => spec === player)) return player;
      throw new Error(`There is no player ${player} here: --${side} adds it at the start.`);
    };
    await this.game.begin({
      rules: asked.get("rules") ?? "classic",
      limits,
      position: asked.get("position") ?? "",
      seats: { dwarfs: seat("dwarfs"), trolls: seat("trolls") },
    });
    return true;
  }

  async #share() {
    const { game } = this;
    const parts = new URLSearchParams({ rules: game.rules.name });
    for (const [name, value] of Object.entries(game.limits)) {
      parts.set(name, value === true ? "yes" : value === false ? "no" : value);
    }
    parts.set("position", game.view.position);
    const link = `${location.origin}${location.pathname}#${parts}`;
    const turns = game.line.map(({ turn }) => turn);
    const names = game.recordedPlayers(turns)
      ?? Object.fromEntries(SIDES.map((side) => [side, game.seats[side] === YOU ? "a person" : game.seats[side]]));
    const { text } = await ask("save", { ...game.battle, position: game.root.position, turns, ...names });
    const shown = (name, value) => {
      const field = make("input", { readonly: true, value, onfocus: ({ target }) => target.select() });
      const copy = make("button", { type: "button", onclick: async () => {
        try {
          await navigator.clipboard.writeText(value);
          copy.textContent = "Copied";
        } catch {
          field.select(); // no clipboard off the loopback, where the page is not secure
          copy.textContent = "Selected";
        }
      } }, "Copy");
      return make("div", { class: "copied" }, labelled(name, field), copy);
    };
    const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    this.#show("share", "Share or save",
      shown("Position", game.view.position),
      shown("Link to it", link),
      make("p", {}, make("a", { class: "button primary", href: address, download: "battle.thud" }, "Save the record"),
        make("small", {}, ` ${turns.length} turns, as a .thud file`)));
  }
}
