// The board as a place to play at: choosing pieces, squares and captures.

import { Board } from "./board.js";
import { byId, complain, say } from "./dom.js";
import { turnInWords, upper, Words } from "./words.js";

export class Table {
  constructor(world, game) {
    this.world = world;
    this.game = game;
    this.words = new Words(world);
    this.selected = null;
    this.node = null; // the one that was last shown
    this.board = new Board(byId("board"), world, {
      chosen: (square) => this.choose(square),
      over: (square) => this.#preview(square),
      cancelled: () => (game.partial ? game.undo().catch(complain) : this.select(null)),
      canDrag: (square) => this.#movable().has(square),
      dragged: (square) => this.select(square),
    });
    game.addEventListener("change", ({ detail }) => this.#show(detail));
  }

  flip() {
    this.board.flip();
    this.#offer();
  }

  select(square) {
    this.selected = square;
    this.#offer();
    if (square !== null) say(this.words.choice(square, [...this.#choices().moves.values()]));
  }

  /** A square was pressed. */
  choose(square) {
    if (!this.game.yours) return;
    const { captures, moves } = this.#choices();
    const action = moves.get(square)?.action ?? captures.get(square);
    if (action !== undefined) {
      this.game.decide(action).catch(complain);
    } else if (this.#movable().has(square)) {
      this.select(square === this.selected ? null : square);
    } else {
      this.select(null);
    }
  }

  /** The pieces that may be chosen: none in the middle of a turn. */
  #movable() {
    const { view, yours } = this.game;
    if (!yours || view.asks !== "move") return new Set();
    return new Set(Object.keys(view.moves).map(Number));
  }

  /** The decisions by square: moves of the chosen piece, and captures. */
  #choices() {
    const { view, yours } = this.game;
    const from = view.deciding ?? this.selected;
    const moves = yours ? (view.moves[from] ?? []) : [];
    return {
      moves: new Map(moves.map((move) => [move.to, { kind: "move", takes: [], may: [], ...move }])),
      captures: new Map(yours ? view.captures.map(({ square, action }) => [square, action]) : []),
    };
  }

  #show({ slide = false }) {
    const { game } = this;
    const stays = game.node === this.node && this.#movable().has(this.selected); // while advice comes
    if (!stays) this.selected = null;
    this.board.setRules(game.rules);
    this.board.show(game.view, slide);
    this.#offer();
    if (game.node !== this.node) {
      this.node = game.node;
      const { turn } = game.node;
      say([turn && upper(turnInWords(turn, game.rules)), game.verdict ?? game.view.standing].filter(Boolean).join(". "));
    } else if (game.partial) {
      say(game.view.asks === "trample" ? "Trample on, or stop." : "Choose what to capture.");
    }
  }

  #offer() {
    const { view, rules, yours } = this.game;
    const { captures, moves } = this.#choices();
    const movable = this.#movable();
    const marks = new Map();
    for (const square of movable) marks.set(square, "piece");
    for (const [square, move] of moves) marks.set(square, move.kind);
    for (const square of captures.keys()) marks.set(square, "capture");
    // All or none: a click on any of these dwarfs captures them all.
    const names = this.words.offer(view, rules, { captures, moves, movable, selected: this.selected });
    this.board.offer({ names, marks, selected: view.deciding ?? this.selected });
    this.board.advise(this.#given());
    byId("board").classList.toggle("yours", yours);
    this.#preview(null);
  }

  /** Show what a move there would do, if there is one; returns whether there is. */
  #preview(square) {
    const { moves } = this.#choices();
    const move = moves.get(square);
    this.board.preview(move?.takes ?? [], move?.may ?? []);
    byId("about").textContent = move ? `${upper(this.words.move(move))}.` : this.#advice();
    return Boolean(move);
  }

  /** The advice on the position that is shown, if any was asked for. */
  #given() {
    return this.game.partial ? null : this.game.node.advice;
  }

  #advice() {
    const { game } = this;
    const { node, view, yours } = game;
    if (view.toMove === null) return game.verdict; // a phone shows it nowhere else
    if (!yours) return game.loop || game.thinking || game.beginning || node.next ? "" : "Paused: ▶ lets it play on.";
    if (node.turn === "decline" && this.selected === null) return `The offer was declined. ${this.#choice()}`;
    return this.#choice();
  }

  #choice() {
    const { view } = this.game;
    if (this.#given()) return `Advice: ${turnInWords(this.#given().turn, this.game.rules)}.`;
    if (view.asks === "capture") return "Choose what to capture.";
    if (view.asks === "trample") return "Trample on, or stop.";
    if (view.asks === "answer") return "";
    if (this.selected !== null) return "Choose where it goes.";
    const kinds = new Set([...this.#movable()].map((square) => view.pieces[square]));
    const names = { d: "a dwarf", T: "a troll", R: `the ${this.game.rules.stoneName}` };
    return `Choose ${["d", "T", "R"].filter((kind) => kinds.has(kind)).map((kind) => names[kind]).join(" or ")}.`;
  }
}
