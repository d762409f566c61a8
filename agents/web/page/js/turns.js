// The list of turns beside the board.

import { byId, complain, make } from "./dom.js";
import { turnInWords, upper } from "./words.js";

export class TurnList {
  /** `halt` is called before going to a turn that was pressed. */
  constructor(game, halt) {
    this.game = game;
    this.halt = halt;
    this.items = new WeakMap(); // by node: a long battle is not drawn afresh each turn
    this.current = null;
  }

  show() {
    const { line, node: current } = this.game;
    const list = byId("list");
    byId("no-turns").hidden = line.length > 0;
    line.forEach((node, i) => {
      const item = this.#item(node);
      if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null);
    });
    while (list.children.length > line.length) list.lastElementChild.remove();
    if (current === this.current) return;
    this.current = current;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const shown = this.items.get(current);
    shown?.firstElementChild.setAttribute("aria-current", "true");
    requestAnimationFrame(() => this.#scrollTo(shown)); // with the frame's own layout
  }

  #scrollTo(item) {
    const list = byId("turns");
    list.scrollTop = item ? item.offsetTop - list.clientHeight / 2 : 0;
  }

  #item(node) {
    const ways = node.parent.children.length;
    const branches = ways > 1 ? `${node.parent.chosen + 1}/${ways}` : "";
    const drawn = this.items.get(node);
    if (drawn && drawn.dataset.branches === branches) return drawn;
    const labels = { "data-branches": branches, "data-number": node.parent.turnNumber };
    const item = make("li", labels, this.#turn(node), branches && this.#branch(node));
    if (drawn) drawn.replaceWith(item);
    if (node === this.current) item.firstElementChild.setAttribute("aria-current", "true");
    this.items.set(node, item);
    return item;
  }

  #turn(node) {
    const go = () => {
      this.halt();
      this.game.go(node).catch(complain);
    };
    const kind = /^[dTR]/.exec(node.turn)?.[0] ?? "word";
    const title = upper(turnInWords(node.turn, this.game.rules));
    return make("button", { class: `turn ${kind}`, title, onclick: go }, node.turn);
  }

  #branch({ parent }) {
    const ways = parent.children.length;
    const next = () => {
      parent.chosen = (parent.chosen + 1) % ways;
      this.game.go(parent.next).catch(complain);
    };
    const label = `Turn ${parent.turnNumber}: branch ${parent.chosen + 1} of ${ways}, show the next`;
    return make("button", { class: "branch", "aria-label": label, onclick: next }, `${parent.chosen + 1}/${ways}`);
  }
}
