// The panel beside the board: players, score, decisions, turns.

import { ask } from "./api.js";
import { byId, complain, draw, drawAll, make, say } from "./dom.js";
import { pause, SIDES, YOU } from "./game.js";
import { TurnList } from "./turns.js";
import { effort, expected, turnInWords, upper } from "./words.js";

const LETTER = { dwarfs: "d", trolls: "T" };

export const nameOf = (world, player) =>
  player === YOU ? "You" : (world.players.find(({ spec }) => spec === player)?.name ?? player);

export const playersFor = (world, rules) =>
  world.players.filter((player) => player.rules === null || player.rules.includes(rules));

/** Options for a choice of players. */
export function playerOptions(world, rules, chosen) {
  const options = [make("option", { value: YOU, selected: chosen === YOU }, "You")];
  for (const { spec, name, line } of playersFor(world, rules)) {
    options.push(make("option", { value: spec, title: line, selected: spec === chosen }, name));
  }
  return options;
}

/** A piece as a small picture. */
export function pieceIcon(world, letter) {
  const icon = draw("svg", { viewBox: "-.5 -.5 1 1", class: "icon", "aria-hidden": "true" });
  icon.append(...drawAll(world.pieces[letter]));
  return icon;
}

export class Panel {
  constructor(world, game, table) {
    this.world = world;
    this.game = game;
    this.table = table;
    this.playing = 0;
    this.root = null; // where the battle that is shown begins
    this.turns = new TurnList(game, () => this.halt());
    this.seated = "";
    game.addEventListener("change", () => this.show());
    game.addEventListener("thought", ({ detail }) => this.#thought(detail));
    this.#buttons();
    this.#keys();
  }

  show() {
    const { game } = this;
    const { view } = game;
    if (game.root !== this.root) this.halt(); // another battle has begun
    this.root = game.root;
    byId("title").textContent = game.rules.title;
    byId("aim").textContent = game.rules.aim;
    const declined = game.node.turn === "decline" && "The offer was declined.";
    byId("standing").textContent = [declined, game.verdict ?? view.standing].filter(Boolean).join(" ");
    document.title = `${this.#now()} · Thud`;
    this.#seats();
    this.#words();
    this.turns.show();
    this.#thinking();
    this.#match().catch(complain);
    for (const id of ["share", "flip"]) byId(id).disabled = false;
    for (const id of ["first", "back"]) byId(id).disabled = !game.node.parent;
    for (const id of ["forth", "last"]) byId(id).disabled = !game.node.next;
    byId("undo").disabled = !game.before && !game.partial;
    byId("hint").disabled = !game.yours || Boolean(game.partial || game.thinking);
    const waiting = view.toMove !== null && game.seats[view.toMove] !== YOU;
    const running = Boolean(this.playing || game.loop);
    byId("run").disabled = !running && !game.node.next && !waiting;
    byId("run").setAttribute("aria-label", running ? "Pause" : "Play on");
    byId("run").classList.toggle("running", running);
  }

  /** What goes on, in a few words for the browser's tab. */
  #now() {
    const { seats, view } = this.game;
    if (view.toMove === null) return view.margin ? `${view.margin > 0 ? "Dwarfs" : "Trolls"} win` : "A draw";
    if (seats[view.toMove] !== YOU) return `${nameOf(this.world, seats[view.toMove])} to move`;
    return seats.dwarfs === seats.trolls ? `${upper(view.toMove)} to move` : "Your turn";
  }

  /** Ask for advice, and show it on the board. */
  async hint() {
    const { game } = this;
    if (!game.yours || game.partial || game.thinking) return;
    const { node } = game;
    await game.advise(this.world.adviser);
    if (game.node === node && node.advice) say(`Advice: ${turnInWords(node.advice.turn, game.rules)}.`);
  }

  #buttons() {
    const { game } = this;
    const steps = {
      first: () => game.root,
      back: () => game.node.parent,
      forth: () => game.node.next,
      last: () => game.line.at(-1) ?? game.root,
    };
    for (const [id, place] of Object.entries(steps)) {
      byId(id).addEventListener("click", () => {
        this.halt();
        game.go(place()).catch(complain);
      });
    }
    byId("undo").addEventListener("click", () => {
      this.halt();
      game.undo().catch(complain);
    });
    byId("hint").addEventListener("click", () => this.hint().catch(complain));
    byId("run").addEventListener("click", () => this.#run().catch(complain));
    byId("flip").addEventListener("click", () => {
      this.table.flip();
      byId("flip").setAttribute("aria-pressed", String(this.table.board.flipped));
    });
    const tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of tabs) {
      tab.addEventListener("click", () => this.#tab(tabs, tab));
      tab.addEventListener("keydown", ({ key }) => {
        if (key !== "ArrowLeft" && key !== "ArrowRight") return;
        const other = tabs[(tabs.indexOf(tab) + 1) % tabs.length];
        this.#tab(tabs, other);
        other.focus();
      });
    }
  }

  #tab(tabs, chosen) {
    for (const tab of tabs) {
      const is = tab === chosen;
      tab.setAttribute("aria-selected", String(is));
      tab.tabIndex = is ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !is;
    }
    this.game.dispatchEvent(new CustomEvent("tab", { detail: chosen.id }));
  }

  #keys() {
    const keys = { u: "undo", h: "hint", f: "flip", "[": "back", "]": "forth" };
    addEventListener("keydown", (event) => {
      const busy = event.target.closest?.("input, select, textarea, dialog");
      const typed = event.altKey && "[]".includes(event.key); // as on many keyboards
      if (busy || event.metaKey || (!typed && (event.ctrlKey || event.altKey))) return;
      const id = keys[event.key.toLowerCase()];
      if (id) byId(id).click();
    });
  }

  /** Play back the turns that follow, or let the agents play on; or pause. */
  async #run() {
    const { game } = this;
    if (this.playing || game.loop) {
      this.halt();
      game.pause();
      return;
    }
    const mine = (this.playing = performance.now());
    try {
      while (this.playing === mine && game.node.next) {
        await game.go(game.node.next);
        await pause(700);
      }
    } catch (error) {
      this.halt();
      this.show();
      throw error;
    }
    if (this.playing !== mine) return;
    this.playing = 0;
    game.running = true;
    this.show();
    await game.proceed();
  }

  halt() {
    this.playing = 0;
  }

  #seats() {
    const { game } = this;
    const { view } = game;
    const key = JSON.stringify([game.rules.name, game.seats]);
    if (key !== this.seated) this.#seat();
    this.seated = key;
    SIDES.forEach((side, i) => {
      const row = byId("seats").children[i];
      row.classList.toggle("turn", view.toMove === side);
      row.lastElementChild.textContent = view[side];
      row.lastElementChild.title = `${view[side]} ${side} left`;
    });
  }

  /** Draw the rows of the players: not at every turn, which would close the choice of a player. */
  #seat() {
    const { game, world } = this;
    const rows = SIDES.map((side) =>
      make(
        "div",
        { class: "seat" },
        pieceIcon(world, LETTER[side]),
        make("span", { class: "side" }, upper(side)),
        make(
          "select",
          { "aria-label": `Who plays the ${side}`, onchange: ({ target }) => game.seat(side, target.value).catch(complain) },
          ...playerOptions(world, game.rules.name, game.seats[side]),
        ),
        make("span", { class: "count" }),
      ),
    );
    const focused = document.activeElement?.getAttribute("aria-label");
    byId("seats").replaceChildren(...rows);
    if (focused?.startsWith("Who plays")) {
      byId("seats").querySelector(`[aria-label="${focused}"]`)?.focus();
    }
  }

  #words() {
    const { game } = this;
    const words = game.yours && !game.thinking ? game.view.words : []; // on a phone they share a place
    const over = game.view.toMove === null && game.node.ended && byId("lesson").hidden;
    const next = game.match?.first === null
      ? { label: "Change sides: second battle", begin: () => this.#second() }
      : { label: "Play again", begin: () => this.#again() };
    const focused = byId("words").contains(document.activeElement);
    byId("words").replaceChildren(
      ...words.map(({ action, name }) =>
        make("button", { class: "primary", onclick: () => game.decide(action).catch(complain) }, name),
      ),
      ...(over ? [make("button", { class: "primary", onclick: () => next.begin().catch(complain) }, next.label)] : []),
    );
    if (focused) this.table.board.focus(); // the button that was pressed is gone
  }

  /** Begin the second battle of a game: the players change sides. */
  async #second() {
    const { game } = this;
    const seats = { dwarfs: game.seats.trolls, trolls: game.seats.dwarfs };
    const { rules, limits, view } = game;
    await game.begin({ leaves: true, rules: rules.name, limits, seats, match: { first: view.margin, players: game.node.ended } });
  }

  /** Begin the battle, or the game of two, once more. */
  async #again() {
    const { rules, limits, root, seats, match } = this.game;
    const changed = { dwarfs: seats.trolls, trolls: seats.dwarfs };
    const anew = match ? { seats: changed, match: { first: null } } : { seats, position: root.position };
    await this.game.begin({ leaves: true, rules: rules.name, limits, ...anew });
  }

  async #match() {
    const { game, world } = this;
    const { view } = game;
    byId("match").hidden = !game.match;
    if (!game.match) return;
    const { first, players } = game.match;
    const margins = first === null ? [view.margin] : [first, view.margin];
    const { points } = await ask("score", { margins });
    if (game.view !== view) return;
    const seats = (view.toMove === null && game.node.ended) || game.seats;
    let called = SIDES.map((side, i) => {
      const now = nameOf(world, seats[players ? SIDES[1 - i] : side]); // the sides have been changed
      const before = players ? nameOf(world, players[side]) : now;
      return before === now ? now : `${before}, then ${now}`;
    });
    // Told apart by the side that each had first.
    if (called[0] === called[1]) called = called.map((name, i) => `${name} (${SIDES[i]} first)`);
    const signed = points.map((value) => (value > 0 ? `+${value}` : String(value)));
    const shown = called.map((name, i) => `${name} ${signed[i]}`).join(", ");
    const done = view.toMove === null && first !== null;
    const winner = points[0] === points[1] ? "drawn" : `won by ${called[points[0] > 0 ? 0 : 1]}`;
    const battle = first === null ? "First battle" : "Second battle";
    byId("match").textContent = done ? `The game is ${winner}: ${shown}.` : `${battle}. Score: ${shown}.`;
  }

  #thinking() {
    const { loop, seats, thinking } = this.game;
    const watched = loop !== null && SIDES.every((side) => seats[side] !== YOU);
    const awaited = thinking ?? watched;
    if (awaited === this.awaited) return;
    this.awaited = awaited;
    clearTimeout(this.clock);
    const place = byId("thinking");
    if (!watched) place.hidden = true; // else it stays between two turns: what is below would jump
    if (!thinking) return;
    this.found = make("p", { class: "quiet", role: "note", "aria-label": "Its best turn so far" });
    // Of a player that answers at once nothing is shown, so that the panel stays still.
    this.clock = setTimeout(() => this.#await(place, thinking), 300);
  }

  #await(place, { player, advises }) {
    const { found } = this;
    const stop = make("button", { onclick: () => {
      stop.textContent = "Stopping …"; // a player of one's own may take long
      this.game.hurry().catch((error) => {
        stop.textContent = "Stop";
        complain(error);
      });
    } }, "Stop");
    place.replaceChildren(
      make("span", { class: "dots" }, advises ? "Advice is on its way" : `${nameOf(this.world, player)} is thinking`),
      stop,
      found,
    );
    place.hidden = false;
    if (this.game.answered.has(player)) return;
    this.clock = setTimeout(() => (found.textContent ||= "Its first turn may take a minute: it is compiled."), 3000);
  }

  /** Show what the current search has found so far. */
  #thought({ line, margin, depth, visits }) {
    const words = [line.join("  "), expected(margin, this.game.rules), ...effort(depth, visits)];
    this.found.textContent = words.join(" · ");
  }
}
