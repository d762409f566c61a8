// Draws the board: squares to press, pieces that slide, marks.

import { draw, drawAll, make } from "./dom.js";

const EXTENT = 17;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Board {
  /**
   * @param place the element that becomes the board
   * @param world the server's description of squares, boards and pieces
   * @param handlers chosen(square), over(square or null), which returns whether the chosen
   *   piece may go there, cancelled(), canDrag(square), dragged(square)
   */
  constructor(place, world, handlers) {
    this.world = world;
    this.handlers = handlers;
    this.flipped = false;
    this.pieces = new Map(); // by square: the element and its letter
    this.shown = null;
    this.rules = null;
    this.layers = {};
    this.svg = draw("svg", { viewBox: `0 0 ${EXTENT} ${EXTENT}`, "aria-hidden": "true" });
    for (const name of ["ground", "labels", "below", "heat", "pieces", "above", "marks", "advice"]) {
      this.layers[name] = draw("g", { class: name });
      this.svg.append(this.layers[name]);
    }
    this.buttons = world.squares.map(([name], square) =>
      make("button", { class: "square", tabindex: "-1", "data-square": square, "aria-label": name }),
    );
    this.grid = make("div", { class: "grid", role: "group", "aria-label": "Board" }, ...this.buttons);
    place.append(this.svg, this.grid);
    this.focused = world.squares.findIndex(([name]) => name === "H8");
    this.buttons[this.focused].tabIndex = 0;
    this.#place();
    this.#listen();
  }

  /** Turn the board round. */
  flip() {
    this.flipped = !this.flipped;
    this.#place();
    if (this.rules) this.#ground();
    if (this.shown) this.#marks(this.shown);
    for (const [square, { element }] of this.pieces) this.#put(element, square);
  }

  /** Choose the board and the stone. */
  setRules(rules) {
    if (this.rules?.name === rules.name) return;
    this.rules = rules;
    this.#ground();
    for (const { element } of this.pieces.values()) element.remove();
    this.pieces.clear();
  }

  /** Show a position; with `slide`, pieces slide there from the position before it. */
  show(view, slide = false) {
    const [from, to] = [view.path[0], view.path.at(-1)];
    const moved = this.pieces.get(from);
    const steps = view.path.map((square) => this.#at(square));
    this.shown = view;
    if (slide && moved && view.path.length > 1 && moved.letter === view.pieces[to]) {
      const struck = this.pieces.get(to);
      if (struck && from !== to) this.#fade(struck.element);
      this.pieces.delete(from);
      this.pieces.set(to, moved);
      this.#slide(moved.element, steps, to);
    }
    for (const [square, { element, letter }] of [...this.pieces]) {
      if (view.pieces[square] === letter) continue;
      this.pieces.delete(square);
      if (slide) this.#fade(element);
      else element.remove();
    }
    [...view.pieces].forEach((letter, square) => {
      if (letter === "." || this.pieces.has(square)) return;
      const shape = letter === "R" ? this.rules.stone : letter;
      const element = draw("g", { class: `piece ${letter}` });
      element.append(...drawAll(this.world.pieces[shape]));
      this.layers.pieces.append(element);
      this.pieces.set(square, { element, letter });
      this.#put(element, square);
    });
    this.#marks(view);
  }

  /** Name every square, and mark its legal decisions. */
  offer({ names, marks, selected }) {
    this.buttons.forEach((button, square) => {
      button.setAttribute("aria-label", names[square]);
      button.classList.toggle("live", marks.has(square));
      if (square === selected) button.setAttribute("aria-pressed", "true");
      else button.removeAttribute("aria-pressed");
    });
    for (const [square, { element }] of this.pieces) {
      element.classList.toggle("chosen", square === selected);
      element.classList.toggle("ready", marks.get(square) === "piece");
    }
    this.layers.marks.replaceChildren();
    for (const [square, kind] of marks) {
      if (kind !== "piece") this.#mark(square, kind);
    }
  }

  /** Show what a move takes, and what it may take. */
  preview(takes, may) {
    for (const old of this.layers.marks.querySelectorAll(".preview")) old.remove();
    for (const square of takes) this.#mark(square, "takes preview");
    for (const square of may) this.#mark(square, "may preview");
  }

  /** Draw the adviser's line from square to square; none for null. */
  advise(advice) {
    const { path, captured } = advice ?? { path: [], captured: [] };
    this.layers.advice.replaceChildren();
    if (path.length < 2) return;
    const points = path.map((square) => this.#at(square).join(" ")).join("L");
    const [x, y] = this.#at(path.at(-1));
    this.layers.advice.append(
      draw("path", { class: "advice", d: `M${points}` }),
      draw("circle", { class: "advice", cx: x, cy: y, r: 0.3 }),
    );
    for (const square of captured) this.#mark(square, "takes", "advice");
  }

  focus(square = this.focused) {
    this.buttons[this.focused].tabIndex = -1;
    this.focused = square;
    this.buttons[square].tabIndex = 0;
    this.buttons[square].focus({ preventScroll: true });
  }

  #at(square) {
    const [, x, y] = this.world.squares[square];
    return this.flipped ? [EXTENT - x, EXTENT - y] : [x, y];
  }

  #place() {
    this.buttons.forEach((button, square) => {
      const [x, y] = this.#at(square);
      button.style.left = `${((x - 0.5) / EXTENT) * 100}%`;
      button.style.top = `${((y - 0.5) / EXTENT) * 100}%`;
    });
  }

  #ground() {
    const shapes = drawAll(this.world.boards[this.rules.board]);
    const labels = shapes.filter((shape) => shape.tagName === "text");
    this.layers.ground.replaceChildren(...shapes.filter((shape) => shape.tagName !== "text"));
    for (const label of labels) {
      label.removeAttribute("fill"); // the page's ink, by day and by night
      if (!this.flipped) continue;
      const height = 0.72 * label.getAttribute("font-size"); // of a capital, above its baseline
      label.setAttribute("x", EXTENT - label.getAttribute("x"));
      label.setAttribute("y", EXTENT - label.getAttribute("y") + height);
    }
    this.layers.labels.replaceChildren(...labels);
    this.#turn(this.layers.ground);
  }

  #turn(layer) {
    if (this.flipped) layer.setAttribute("transform", `rotate(180 ${EXTENT / 2} ${EXTENT / 2})`);
    else layer.removeAttribute("transform");
  }

  #marks(view) {
    this.layers.below.replaceChildren(...drawAll(view.below));
    this.layers.above.replaceChildren(...drawAll(view.above));
    this.#turn(this.layers.below);
    this.#turn(this.layers.above);
  }

  #put(element, square) {
    const [x, y] = this.#at(square);
    element.style.transform = `translate(${x}px, ${y}px)`;
  }

  #slide(element, steps, to) {
    this.layers.pieces.append(element); // over all others while it moves
    this.#put(element, to);
    if (still.matches) return;
    const frames = steps.map(([x, y]) => ({ transform: `translate(${x}px, ${y}px)` }));
    element.animate(frames, { duration: 180 + 70 * steps.length, easing: "ease-in-out" });
  }

  #fade(element) {
    if (still.matches) {
      element.remove();
      return;
    }
    element.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 260 }).onfinish = () =>
      element.remove();
  }

  #mark(square, kind, layer = "marks") {
    const [x, y] = this.#at(square);
    const group = draw("g", { class: `mark ${kind}`, transform: `translate(${x} ${y})` });
    if (kind.startsWith("takes")) {
      group.append(draw("path", { d: "M-.3-.3L.3 .3M-.3 .3L.3-.3" }));
    } else if (kind.startsWith("may") || kind === "hurl" || kind === "capture") {
      group.append(draw("circle", { class: "rim", r: 0.45 }), draw("circle", { r: 0.45 }));
    } else if (kind === "shove") {
      group.append(draw("circle", { r: 0.15 }), draw("circle", { class: "halo", r: 0.32 }));
    } else if (kind.startsWith("aim")) {
      group.append(draw("circle", { r: 1.25 })); // seen around a finger on the square
    } else if (kind === "trample") {
      group.append(draw("path", { d: "M0-.22L.22 0L0 .22L-.22 0Z" }));
    } else {
      group.append(draw("circle", { r: 0.15 }));
    }
    this.layers[layer].append(group);
  }

  #listen() {
    const squareOf = (target) => {
      const button = target?.closest?.(".square");
      return button && this.grid.contains(button) ? Number(button.dataset.square) : null;
    };
    this.grid.addEventListener("click", (event) => {
      const square = squareOf(event.target);
      if (square === null) return;
      this.focus(square);
      if (this.dropped) this.dropped = false; // the click that ends a drag
      else if (event.detail < 2) this.handlers.chosen(square); // not again for a double click
    });
    this.grid.addEventListener("pointerover", (event) =>
      this.handlers.over(squareOf(event.target)),
    );
    this.grid.addEventListener("pointerleave", () => this.handlers.over(null));
    this.grid.addEventListener("focusin", (event) => this.handlers.over(squareOf(event.target)));
    this.grid.addEventListener("keydown", (event) => this.#key(event));
    this.grid.addEventListener("pointerdown", (event) => this.#drag(event, squareOf));
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's own
    const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (step) {
      const [x, y] = this.#at(this.focused);
      const next = this.world.squares.findIndex((_, square) => {
        const [a, b] = this.#at(square);
        return a === x + step[0] && b === y + step[1];
      });
      if (next >= 0) {
        this.focus(next);
        this.buttons[next].scrollIntoView({ block: "nearest" });
      }
      event.preventDefault();
    } else if (event.key === "Escape") {
      this.handlers.cancelled();
    }
  }

  #drag(event, squareOf) {
    this.dropped = false; // no click follows where a touch drags a piece out and back
    const from = squareOf(event.target);
    if (from === null || event.button !== 0 || !event.isPrimary || !this.handlers.canDrag(from)) return;
    const { element } = this.pieces.get(from);
    const start = [event.clientX, event.clientY];
    let dragging = false;
    const move = (moved) => {
      if (moved.pointerId !== event.pointerId) return;
      const [dx, dy] = [moved.clientX - start[0], moved.clientY - start[1]];
      if (!dragging && Math.hypot(dx, dy) < 6) return;
      if (!dragging) {
        dragging = true;
        this.handlers.dragged(from);
        this.layers.pieces.append(element);
        element.classList.add("held");
      }
      const unit = this.svg.getBoundingClientRect().width / EXTENT;
      const [x, y] = this.#at(from);
      element.style.transform = `translate(${x + dx / unit}px, ${y + dy / unit}px)`;
      const over = squareOf(document.elementFromPoint(moved.clientX, moved.clientY));
      const legal = this.handlers.over(over);
      if (legal && moved.pointerType === "touch") this.#mark(over, "aim preview");
    };
    const stop = (ended) => {
      // A second finger begins a pinch, which drags nothing.
      const pinches = ended.type === "pointerdown";
      if (pinches === (ended.pointerId === event.pointerId)) return;
      removeEventListener("pointerdown", stop);
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
      if (!dragging) return;
      element.classList.remove("held");
      this.handlers.over(null);
      this.#put(element, from);
      if (ended.type !== "pointerup") {
        this.handlers.cancelled();
        return;
      }
      const to = squareOf(document.elementFromPoint(ended.clientX, ended.clientY));
      // The browser sends a click after it only if it ends where it began.
      this.dropped = to === from;
      if (to !== null && to !== from) this.handlers.chosen(to);
    };
    addEventListener("pointerdown", stop);
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  }
}
