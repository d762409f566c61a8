// The game in six pictures that are played.

import { byId, complain, make, say, stored } from "./dom.js";
import { YOU } from "./game.js";

const SEEN = "thud-lessons-seen";

const remember = () => stored(() => localStorage.setItem(SEEN, "yes"));

export const isFirstVisit = () => stored(() => localStorage.getItem(SEEN) === null);

export class Lessons {
  constructor(world, game, board, leave) {
    this.lessons = world.lessons;
    this.game = game;
    this.board = board;
    this.leave = leave;
    this.number = null;
    this.shown = null;
    this.starting = null; // the lesson that is shown, or is to be once its position is there
    this.root = null; // where it begins
    this.before = null; // the battle that the lessons interrupted
    byId("learn").addEventListener("click", () => this.start(0).catch(complain));
    game.addEventListener("change", () => this.#look());
  }

  /** Show a lesson. */
  async start(number) {
    remember();
    const { rules, position, agreement } = this.lessons[number];
    if (!this.starting) this.before = this.game.node ? this.game.kept : null;
    const mine = (this.starting = {});
    this.number = null; // ignore changes until the position is there
    const seats = { dwarfs: YOU, trolls: YOU };
    let begun = false;
    try {
      begun = await this.game.begin({ rules, position, limits: { agreement }, seats });
    } catch (error) {
      if (this.starting === mine) this.close();
      throw error;
    }
    if (this.starting !== mine) return;
    if (!begun) return this.close(); // another battle begins
    this.root = this.game.root;
    this.number = number;
    this.#show("task");
  }

  /** End the lessons. */
  close() {
    remember();
    this.starting = null;
    this.before = null;
    this.number = null;
    this.shown = null;
    const focused = this.#focused;
    byId("lesson").hidden = true;
    if (focused) this.board.focus();
  }

  get #focused() {
    return byId("lesson").contains(document.activeElement);
  }

  #look() {
    if (this.number === null) return;
    const lesson = this.lessons[this.number];
    const { node, root } = this.game;
    if (root !== this.root) this.close(); // another battle has begun
    else if (node === root) this.#show("task");
    else if (node.parent === root && lesson.solutions.includes(node.turn)) this.#show("done");
    else if (node.parent === root) this.#show("again");
  }

  #show(state) {
    const key = `${this.number} ${state}`;
    if (key === this.shown) return;
    this.shown = key;
    const lesson = this.lessons[this.number];
    const last = this.number === this.lessons.length - 1;
    const text = { task: lesson.task, done: lesson.shows, again: `Not quite. Try again: ${lesson.task}` }[state];
    const next = last
      ? make("button", { class: "primary", onclick: () => this.leave() }, "Play")
      : make("button", { class: state === "done" ? "primary" : "", onclick: () => this.start(this.number + 1).catch(complain) }, state === "done" ? "Next" : "Skip");
    const retry = state === "again"
      ? make("button", { class: "primary", onclick: () => this.start(this.number).catch(complain) }, "Try again")
      : null;
    const heading = make("h2", { tabindex: "-1" }, `${this.number + 1} of ${this.lessons.length}: ${lesson.title}`);
    const focused = this.#focused;
    byId("lesson").className = `card ${state}`;
    byId("lesson").hidden = false;
    byId("lesson").replaceChildren(
      heading,
      make("p", {}, text),
      make("menu", {}, make("button", { class: "plain", onclick: () => this.leave() }, "Leave"), retry, next),
    );
    if (focused) heading.focus(); // the button that was pressed is gone
    say(text);
  }
}
