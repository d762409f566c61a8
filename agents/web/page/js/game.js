// A battle in progress: its tree of turns, its players, and who decides.
//
// The server checks every decision; only its answers are kept here.

import { ask, listen } from "./api.js";
import { complain } from "./dom.js";

export const YOU = "you";
export const SIDES = ["dwarfs", "trolls"];

/** A node of the tree: a position, the turn that led to it, and in `ended` who played the battle to its end there. */
class Node {
  constructor(position, turn = null, parent = null, view = null) {
    Object.assign(this, { position, turn, parent, view, children: [], chosen: 0, advice: null, ended: null });
  }

  get next() {
    return this.children[this.chosen] ?? null;
  }

  /** The side that decides here. */
  get side() {
    return this.position.split(" ")[1] === "d" ? "dwarfs" : "trolls";
  }

  /** The number of the turn that is decided here; offers and answers to them are no turns. */
  get turnNumber() {
    return Number(this.position.split(" ")[4]) + 1;
  }
}

export class Game extends EventTarget {
  constructor(world) {
    super();
    this.world = world;
    this.seats = { dwarfs: YOU, trolls: "greedy" };
    this.running = true;
    this.thinking = null;
    this.loop = null; // while agents play on, also between two turns of theirs
    this.beginning = null; // the battle that is to begin, until its view is here
    this.going = null; // the node to go to, until its view is here
    this.answered = new Set(); // the players that have answered: they are compiled
  }

  /** The fields that every request about this battle has. */
  get battle() {
    return { rules: this.rules.name, ...this.limits };
  }

  get view() {
    return this.partial?.view ?? this.node.view;
  }

  /** Whether a person decides next, who need not wait for advice. */
  get yours() {
    const { toMove } = this.view;
    const waits = this.beginning || (this.thinking && !this.thinking.advises);
    return toMove !== null && this.seats[toMove] === YOU && !waits;
  }

  /** How the battle that is shown ended, and whether the one person who played it won; or null. */
  get verdict() {
    const { verdict, margin } = this.view;
    const mine = SIDES.filter((side) => this.node.ended?.[side] === YOU);
    if (!verdict || !margin || mine.length !== 1) return verdict;
    return `You ${margin > 0 === (mine[0] === "dwarfs") ? "win" : "lose"}. ${verdict}`;
  }

  /** The last position in which a person decided, before the one that is shown; or null. */
  get before() {
    let node = this.node.parent;
    while (node && this.seats[node.side] !== YOU) node = node.parent;
    return node;
  }

  /** The turns from the start to the end of the branch that is shown. */
  get line() {
    const nodes = [];
    for (let node = this.root.next; node; node = node.next) nodes.push(node);
    return nodes;
  }

  /** Who played the turns that are shown, if they are those of the record that was opened. */
  recordedPlayers(turns) {
    return this.recorded?.turns === turns.join() ? this.recorded.players : null;
  }

  /** Begin a battle: at a position, or with a record's turns. Returns false if another one was begun
   * before the view of this one had come; true once it has begun, whatever becomes of its agents' turns.
   * With `leaves` it is a step further in the tab's history, from which Back leads to the one before.
   */
  async begin({ rules, limits = {}, position = "", turns = [], positions = [], seats, players = null, match = null, ended = null, running = true, leaves = false }) {
    this.stop();
    const opening = await this.#opening(rules, limits, position);
    if (!opening) return false;
    this.stop(); // an agent may have been asked again meanwhile
    if (leaves && this.node) this.dispatchEvent(new CustomEvent("leave"));
    const [ruleset, view] = opening;
    this.rules = ruleset;
    this.limits = limits;
    this.root = new Node(view.position, null, null, view);
    let node = this.root;
    turns.forEach((turn, i) => {
      const child = new Node(positions[i + 1], turn, node);
      node.children.push(child);
      node = child;
    });
    if (seats) this.seats = { ...seats };
    this.recorded = players && { players, turns: turns.join() };
    this.match = match;
    node.ended = ended;
    this.node = this.root;
    this.going = null;
    this.partial = null;
    this.running = running;
    this.#changed({ slide: false });
    this.proceed().catch(complain);
    return true;
  }

  /** The battle as it stands, for `resume`. */
  get kept() {
    const { rules, limits, root, node, seats, recorded, match, running } = this;
    return { rules, limits, root, node, seats, recorded, match, running };
  }

  /** Go back to a battle that was kept. */
  async resume(kept) {
    this.stop();
    this.beginning = null;
    Object.assign(this, kept, { going: null, partial: null });
    this.#changed({ slide: false });
    await this.proceed();
  }

  /** The ruleset and the view that a battle begins with; null if another one was begun meanwhile.
   * Until they are here, the board that is shown is that of the battle before, and not to be played on.
   */
  async #opening(rules, limits, position) {
    const mine = (this.beginning = {});
    if (this.node) this.#changed();
    try {
      const ruleset = await this.#ruleset(rules);
      const view = await ask("view", { rules: ruleset.name, ...limits, position });
      return this.beginning === mine ? [ruleset, view] : null;
    } finally {
      if (this.beginning === mine) {
        this.beginning = null;
        if (this.node) this.#changed();
      }
    }
  }

  /** A ruleset by its name or spec; from then on it is one of those to choose from. */
  async #ruleset(rules) {
    const { rulesets } = this.world;
    const known = (wanted) => rulesets.find(({ name }) => name === wanted);
    if (known(rules)) return known(rules);
    const found = await ask("ruleset", { rules });
    if (!known(found.name)) rulesets.push(found);
    return known(found.name);
  }

  /** A decision of the person whose turn it is. */
  async decide(action) {
    this.stop(); // advice comes too late now
    const { node, partial } = this;
    const actions = [...(partial?.actions ?? []), action];
    const { turn, view } = await ask("play", { ...this.battle, position: node.position, actions });
    if (this.node !== node || this.partial !== partial) return;
    if (turn === null) {
      this.going = null;
      this.partial = { actions, view };
      this.#changed({ slide: true });
      return;
    }
    const slide = !this.partial; // the first decision has been shown already
    this.partial = null;
    this.#enter(turn, view, slide);
    await this.proceed();
  }

  /** Let agents play while it is their turn, unless paused. */
  async proceed() {
    if (this.loop || this.thinking) return;
    const mine = (this.loop = {});
    try {
      while (this.loop === mine && this.running && !this.node.next) {
        const { toMove } = this.view;
        if (toMove === null || this.seats[toMove] === YOU) break;
        const node = this.node;
        const found = await this.think(this.seats[toMove]);
        if (!found || this.loop !== mine || this.node !== node || this.partial) break;
        this.#enter(found.turn, found.view, true);
        if (!SIDES.some((side) => this.seats[side] === YOU)) await pause(450);
      }
    } finally {
      if (this.loop === mine) this.loop = null;
      this.#changed();
    }
  }

  /** Ask an agent for advice; it stays with the position. */
  async advise(player) {
    const { node } = this;
    try {
      const found = await this.think(player, 5, true);
      if (found) node.advice = { turn: found.turn, path: found.view.path, captured: found.view.captured };
    } finally {
      this.#changed();
    }
  }

  /** An agent's turn in this position, or its advice on it; null if the request was dropped. */
  async think(player, seconds = 15, advises = false) {
    const id = crypto.randomUUID?.() ?? `thought-${Date.now()}-${Math.floor(1e6 * Math.random())}`;
    const dropped = new AbortController();
    const mine = (this.thinking = { id, player, dropped, advises });
    this.#changed();
    try {
      const message = { ...this.battle, position: this.node.position, player, seconds, id };
      for await (const line of listen("think", message, dropped.signal)) {
        if (line.turn !== undefined) {
          this.answered.add(player);
          return line;
        }
        if (line.finding) this.dispatchEvent(new CustomEvent("thought", { detail: line.finding }));
      }
      return null;
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      return null;
    } finally {
      if (this.thinking === mine) this.thinking = null;
    }
  }

  /** Make the agent that is thinking play the best it has found. */
  async hurry() {
    if (this.thinking) await ask("stop", { id: this.thinking.id });
  }

  /** Drop the current search; no agent plays on. */
  stop() {
    this.thinking?.dropped.abort();
    this.thinking = null;
    this.loop = null;
  }

  /** Let no agent play until a person wishes it. */
  pause() {
    this.running = false;
    this.stop();
    this.#changed();
  }

  /** Go to another node of the tree. */
  async go(node) {
    if (!node) return;
    this.stop();
    const slide = node.parent === this.node && !this.partial;
    this.partial = null;
    this.going = node;
    if (!node.view) {
      node.view = await ask("view", { ...this.battle, position: node.position, last: node.turn });
    }
    if (this.going !== node) return;
    this.node = node;
    this.#changed({ slide });
    // An agent that was thinking about it goes on; two of them wait until a person wishes it.
    if (SIDES.some((side) => this.seats[side] === YOU)) this.proceed().catch(complain);
  }

  /** Take back the last decision of a person, and what followed. In the middle of a battle it only
   * goes back: the turns that come later stay.
   */
  async undo() {
    const { before, node, partial } = this;
    if (!partial && !before) return;
    this.stop();
    if (partial) {
      const actions = partial.actions.slice(0, -1);
      let left = null;
      if (actions.length) {
        const { view } = await ask("play", { ...this.battle, position: node.position, actions });
        if (this.node !== node || this.partial !== partial) return;
        left = { actions, view };
      }
      this.partial = left;
      this.#changed({ slide: false });
      return;
    }
    await this.go(before);
    if (this.node !== before) return;
    if (!node.next) {
      let gone = node; // what was played on this branch, and on no other
      while (gone.parent !== before && gone.parent.children.length === 1) gone = gone.parent;
      const { parent } = gone;
      parent.children.splice(parent.chosen, 1);
      parent.chosen = Math.max(0, parent.chosen - 1);
    }
    this.running = true;
    this.#changed({ slide: false });
  }

  /** Give a side to a person or an agent. */
  async seat(side, player) {
    if (this.view.toMove === side) {
      if (this.thinking) this.stop();
      if (player !== YOU) this.partial = null; // agents play whole turns
    }
    this.seats[side] = player;
    this.running = true;
    this.#changed();
    await this.proceed();
  }

  /** Add a turn to the tree, or find it there, and go there. */
  #enter(turn, view, slide) {
    const node = this.node;
    let index = node.children.findIndex((child) => child.turn === turn);
    if (index < 0) index = node.children.push(new Node(view.position, turn, node)) - 1;
    node.chosen = index;
    this.node = node.children[index];
    this.node.view = view;
    this.going = null;
    if (view.toMove === null) this.node.ended = { ...this.seats };
    this.#changed({ slide });
  }

  #changed(detail = {}) {
    this.dispatchEvent(new CustomEvent("change", { detail }));
  }
}

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
