// What players think of a position: two of them side by side, and a curve over the battle.

import { ask, listen } from "./api.js";
import { byId, complain, draw, make } from "./dom.js";
import { nameOf, playersFor } from "./panel.js";
import { effort, expected } from "./words.js";

const NO_PLAYER = "";
const SECONDS = 20;
const PASSING_MS = 150;
let thoughts = 0;

/** One player's view of the position. */
class View {
  /** The first view shows a policy for the rules, as long as a person has not chosen another player. */
  constructor(owner, label, isFirst) {
    this.owner = owner;
    this.isFirst = isFirst;
    this.isChosen = false;
    this.player = NO_PLAYER;
    this.asked = null;
    this.dropped = null;
    this.select = make("select", { "aria-label": label, onchange: () => {
      this.player = this.select.value;
      this.isChosen = true;
      this.refresh(true);
      owner.curve();
    } });
    this.button = make("button", { onclick: () => (this.dropped ? this.#stop() : this.#think()) });
    this.body = make("div", { class: "opinion" });
    this.card = make("section", { class: "view", "aria-label": label }, this.select, this.body, this.button);
  }

  get chosen() {
    return this.owner.world.players.find(({ spec }) => spec === this.player);
  }

  /** Fill in the choice of players for these rules. */
  fill(rules) {
    const players = playersFor(this.owner.world, rules);
    const isOut = this.player === NO_PLAYER && this.isChosen; // a person wants none
    if (!isOut && !players.some(({ spec }) => spec === this.player)) {
      const policy = this.isFirst && players.find(({ is_policy }) => is_policy);
      this.player = policy ? policy.spec : NO_PLAYER;
    }
    this.select.replaceChildren(
      make("option", { value: NO_PLAYER, selected: this.player === NO_PLAYER }, "No player"),
      ...players.map(({ spec, name }) => make("option", { value: spec, selected: spec === this.player }, name)),
    );
  }

  /** Evaluate the position that is shown; a search waits for its button. */
  refresh(force = false) {
    const { game } = this.owner;
    const key = JSON.stringify([this.player, game.battle, game.view.position]);
    if (key === this.asked && !force) return;
    this.asked = key;
    clearTimeout(this.clock);
    this.dropped?.abort();
    this.dropped = null;
    this.body.replaceChildren();
    const over = game.view.toMove === null;
    this.button.hidden = !this.player || this.chosen?.is_policy || over;
    this.button.textContent = "Think";
    if (!this.chosen?.is_policy || over) return;
    const note = this.#note("It looks at the position …");
    // Not at positions that are stepped through fast.
    this.clock = setTimeout(() => this.#look(key, note).catch(complain), PASSING_MS);
  }

  async #look(key, note) {
    const { game } = this.owner;
    const { position } = game.view;
    try {
      const found = await ask("insight", { ...game.battle, position, player: this.player });
      if (this.asked === key) this.#show(found);
    } catch (error) {
      if (this.asked === key) this.asked = null; // to ask again when the tab is shown anew
      throw error;
    } finally {
      note.remove();
    }
  }

  async #think() {
    const { game } = this.owner;
    const { position } = game.view;
    const dropped = (this.dropped = new AbortController());
    this.id = `analysis-${Date.now()}-${(thoughts += 1)}`;
    this.button.textContent = "Stop";
    const note = this.#note("It thinks …");
    try {
      const message = { ...game.battle, position, player: this.player, seconds: SECONDS, id: this.id };
      for await (const { finding } of listen("analyse", message, dropped.signal)) {
        if (this.dropped === dropped && finding) this.#show(finding);
      }
    } catch (error) {
      complain(error);
    } finally {
      note.remove();
      if (this.dropped === dropped) {
        this.dropped = null;
        this.button.textContent = "Think";
      }
    }
  }

  /** Say what is awaited: a player's first answer may take a minute, while it is compiled. */
  #note(words) {
    const note = make("p", { class: "quiet" }, words);
    this.body.prepend(note);
    return note;
  }

  #stop() {
    ask("stop", { id: this.id }).catch(complain);
  }

  #show({ margin, turns, heat, line, depth, visits }) {
    const { rules } = this.owner.game;
    const parts = [];
    if (margin !== null) parts.push(bar(margin, rules));
    const facts = effort(depth, visits);
    if (facts.length) parts.push(make("p", { class: "quiet" }, facts.join(", ")));
    if (line) parts.push(make("p", { class: "line", "aria-label": "Main line" }, line.join("  ")));
    const best = turns[0]?.[0] ?? "nothing";
    parts.push(make("img", {
      src: `data:image/svg+xml,${encodeURIComponent(heat)}`,
      alt: `Heat map: orange squares to move from, blue ones to move to. Likeliest: ${best}.`,
    }));
    parts.push(make("ol", { class: "best", "aria-label": "Likeliest turns" },
      ...turns.map(([turn, chance]) => {
        const meter = make("span", { class: "meter" });
        meter.style.width = `${100 * chance}%`;
        return make("li", {}, make("span", { class: "name" }, turn), make("b", {}, percent(chance)), meter);
      })));
    this.body.replaceChildren(...parts);
  }
}

const percent = (chance) => (chance >= 0.1 ? `${Math.round(100 * chance)}%` : `${(100 * chance).toFixed(1)}%`);

/** The expected winner and margin, as a bar. */
function bar(margin, { most, scored }) {
  const fill = make("span", { class: "dwarfs" });
  fill.style.width = `${50 + (50 * margin) / most}%`;
  return make("div", { class: "value" },
    make("div", { class: "bar", "aria-hidden": "true" }, fill),
    make("span", {}, `Expected: ${expected(margin, { most, scored })}`));
}

export class Insight {
  /** `halt` is called before going to a turn that was pressed. */
  constructor(world, game, halt) {
    this.world = world;
    this.game = game;
    this.halt = halt;
    this.views = [new View(this, "First player", true), new View(this, "Second player", false)];
    this.plot = make("figure", { class: "curve" });
    byId("insight").append(
      this.plot, // first: the views are long
      make("div", { class: "views" }, ...this.views.map(({ card }) => card)),
    );
    this.rules = null;
    game.addEventListener("change", () => this.show());
    game.addEventListener("tab", () => this.show());
  }

  /** Update everything, if the tab is open. */
  show() {
    if (byId("insight").hidden || !this.game.node) return;
    const { name } = this.game.rules;
    if (this.rules !== name) {
      this.rules = name;
      for (const view of this.views) view.fill(name);
    }
    for (const view of this.views) view.refresh();
    clearTimeout(this.clock);
    this.clock = setTimeout(() => this.curve(), 300);
  }

  /** The margin over the battle, and what each policy expected. */
  async curve() {
    const { game } = this;
    const turns = game.line.map(({ turn }) => turn);
    const here = turns.length ? [game.root, ...game.line].indexOf(game.node) : 0;
    const policies = this.views.filter(({ chosen }) => chosen?.is_policy);
    const message = { ...game.battle, position: game.root.position, turns };
    const battle = JSON.stringify(message);
    if (battle !== this.battle) [this.battle, this.curves] = [battle, new Map()];
    const key = JSON.stringify([battle, here, policies.map(({ player }) => player)]);
    if (key === this.drawn) return;
    this.drawn = key;
    if (turns.length < 2 || !policies.length) {
      this.plot.replaceChildren();
      return;
    }
    const { curves } = this;
    const found = [];
    for (const { player } of policies) found.push(await this.#curve(curves, message, player).catch(complain));
    if (this.drawn !== key) return;
    if (found.every(Boolean)) this.#plot(found, policies, here, turns.length);
    else this.drawn = null; // to ask again when the tab is shown anew
  }

  /** What a policy expected over the battle: asked for once, as each turn of it is evaluated. */
  #curve(curves, message, player) {
    if (!curves.has(player)) {
      const asked = ask("curve", { ...message, player });
      asked.catch(() => curves.delete(player));
      curves.set(player, asked);
    }
    return curves.get(player);
  }

  /** The end of the scale for these margins: a multiple of 4 points, or a battle won. */
  #range(margins) {
    const { most, scored } = this.game.rules;
    const largest = Math.max(1, ...margins.map(Math.abs));
    return scored ? Math.min(most, 4 * Math.ceil(largest / 4)) : most;
  }

  #plot(found, policies, here, count) {
    const [width, height] = [320, 120];
    const top = this.#range(found.flatMap(({ margins, expected }) => [...margins, ...expected]));
    const x = (turn) => 4 + ((width - 8) * turn) / count;
    const y = (margin) => height / 2 - ((height / 2 - 4) * margin) / top;
    const path = (values) => values.map((value, turn) => `${turn ? "L" : "M"}${x(turn).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const names = policies.map(({ player }) => nameOf(this.world, player));
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `The margin over ${count} turns, and what was expected by ${names.join(" and ")}` },
      draw("path", { class: "zero", d: `M0 ${height / 2}H${width}` }),
      draw("path", { class: "here", d: `M${x(here)} 0V${height}` }),
      draw("path", { class: "margin", d: path(found[0].margins) }),
      ...found.map(({ expected }, i) => draw("path", { class: `expected n${i}`, d: path(expected) })),
      ...[top, -top].map((margin) =>
        draw("text", { x: 4, y: y(margin) + (margin > 0 ? 8 : -2) }, margin > 0 ? `+${top}` : `-${top}`)));
    picture.addEventListener("click", ({ clientX }) => {
      const { left, width: wide } = picture.getBoundingClientRect();
      const turn = Math.round((((clientX - left) * width) / wide - 4) / ((width - 8) / count));
      const { game } = this;
      this.halt();
      game.go([game.root, ...game.line][Math.min(Math.max(turn, 0), count)]).catch(complain);
    });
    const key = [["margin", "as it stood"], ...names.map((name, i) => [`n${i}`, `as ${name} expected it to end`])];
    this.plot.replaceChildren(picture, make("figcaption", {}, "The margin, dwarfs up, trolls down; a click goes to that turn: ",
      ...key.map(([kind, text]) => make("span", { class: `key ${kind}` }, text))));
  }
}
