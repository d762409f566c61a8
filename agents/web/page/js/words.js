// Names of squares and moves, for tooltips and screen readers.

export const upper = (text) => text[0].toUpperCase() + text.slice(1);

const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

/** The expected winner and margin, in words. */
export function expected(margin, { most, scored }) {
  const side = margin >= 0 ? "dwarfs" : "trolls";
  return scored
    ? `${side} by ${Math.abs(margin).toFixed(1)}`
    : `${side}, ${Math.round(100 * Math.abs(margin / most))}%`;
}

const ANSWERS = { offer: "an offer to end the battle", accept: "the offer is accepted", decline: "the offer is declined" };

/** A turn in words, from its notation: "troll D8 to F8, captures E7 and E8". */
export function turnInWords(turn, rules) {
  const found = /^([dTR])([^x]+)(.*)$/.exec(turn);
  if (!found) return ANSWERS[turn] ?? turn;
  const [, letter, path, captured] = found;
  const piece = { d: "dwarf", T: "troll", R: rules.stoneName }[letter];
  const moves = `${piece} ${path.split("-").join(" to ")}`;
  return captured ? `${moves}, captures ${listed(captured.slice(1).split("x"))}` : moves;
}

/** How far a search has looked: turns or tries. */
export const effort = (depth, visits) =>
  [
    depth ? `${depth} ${depth === 1 ? "turn" : "turns"} deep` : null,
    visits ? `${visits.toLocaleString("en")} tries` : null,
  ].filter(Boolean);

export class Words {
  constructor(world) {
    this.names = world.squares.map(([name]) => name);
  }

  /** The piece on a square. */
  piece(view, rules, square) {
    return { d: "dwarf", T: "troll", R: rules.stoneName, ".": "empty" }[view.pieces[square]];
  }

  squares(list) {
    return listed(list.map((square) => this.names[square]));
  }

  /** A line on what a move does: "shove to H7, may capture any of G6 and G7". */
  move(move) {
    let text = `${move.kind} to ${this.names[move.to]}`;
    if (move.takes.length) text += `, captures ${this.squares(move.takes)}`;
    if (move.may.length) {
      const some = move.may.length === 1 ? "" : move.most === 1 ? "one of " : "any of ";
      text += `, may capture ${some}${this.squares(move.may)}`;
    }
    return text;
  }

  /** What a piece that was chosen can do: "F9: move to any of 24 squares; hurl to J6, captures J6." */
  choice(square, moves) {
    const isPlain = ({ kind, takes, may }) => kind === "move" && !takes.length && !may.length;
    const plain = moves.filter(isPlain);
    const told = moves.filter((move) => !isPlain(move)).map((move) => this.move(move));
    if (plain.length > 1) told.unshift(`move to any of ${plain.length} squares`);
    else told.unshift(...plain.map((move) => this.move(move)));
    return `${this.names[square]}: ${told.join("; ")}.`;
  }

  /** The name of every square, with its legal decisions. */
  offer(view, rules, { moves, captures, selected, movable }) {
    return this.names.map((name, square) => {
      const base = `${name}, ${this.piece(view, rules, square)}`;
      if (moves.has(square)) return `${base}: ${this.move(moves.get(square))}`;
      if (captures.has(square)) return `${base}: capture`;
      if (square === selected) return `${base}, chosen`;
      return movable.has(square) ? `${base}, can move` : base;
    });
  }
}
