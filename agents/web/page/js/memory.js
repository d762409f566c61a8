// Keeps the battles of this tab, each with its entry of the tab's history, so that they are still
// there after a reload, and the browser's buttons Back and Forward lead to them.

import { Unanswered } from "./api.js";
import { complain, stored } from "./dom.js";
import { YOU } from "./game.js";

const KEY = "thud-battle";

export class Memory {
  constructor(world, game, lessons) {
    this.world = world;
    this.game = game;
    this.lessons = lessons;
    this.left = new Map(); // by the tab's history: the battle that an entry was left with
    this.replaced = null; // the first position of the battle that the address is to replace
    this.#mark(history.state);
    const keep = () => {
      const isHere = history.state?.entry === this.entry && game.root !== this.replaced;
      if (game.node && !game.beginning && !lessons.starting && isHere) this.#keep();
    };
    game.addEventListener("change", keep);
    game.addEventListener("leave", () => this.#leave());
    addEventListener("pagehide", keep); // by its last address
  }

  /** Give the current entry of the tab's history a name, unless it has one. */
  #mark(state) {
    this.entry = state?.entry ?? crypto.getRandomValues(new Uint32Array(1))[0];
    history.replaceState({ entry: this.entry }, "");
  }

  /** Another battle begins: it gets an entry of its own, whose address names none. */
  #leave() {
    this.#remember();
    history.pushState(null, "", location.pathname);
    this.#mark(null);
  }

  /** Remember what the current entry is left with. */
  #remember() {
    const { game, lessons, left } = this;
    const now = lessons.starting ? lessons.before : game.kept;
    if (now?.root && !game.beginning && now.root !== this.replaced) left.set(this.entry, now);
  }

  /** The tab has come to another entry of its history: go on with the battle that it was left with;
   * without one, `follow` the address.
   */
  async turn(state, follow) {
    const { game, left } = this;
    this.#remember();
    this.#mark(state);
    this.replaced = null;
    if (left.has(this.entry)) return game.resume(left.get(this.entry));
    this.replaced = game.root;
    try {
      const has = (await this.#recall(this.#key)) || (await follow());
      if (!has) this.replaced = null; // the address names none: the battle stays
    } catch (error) {
      if (!(error instanceof Unanswered)) this.replaced = null; // else the tab may be reloading
      throw error;
    }
  }

  #keep() {
    const { rules, limits, root, node, line, seats, match, running } = this.game;
    const turns = line.map(({ turn }) => turn);
    const battle = {
      address: location.hash,
      rules: rules.name,
      limits,
      seats,
      match,
      ended: (line.at(-1) ?? root).ended,
      running,
      players: this.game.recordedPlayers(turns),
      position: root.position,
      turns,
      positions: [root, ...line].map(({ position }) => position),
      at: node === root ? 0 : line.indexOf(node) + 1,
    };
    const text = JSON.stringify(battle);
    for (const key of [KEY, this.#key]) stored(() => sessionStorage.setItem(key, text));
  }

  /** Where the battle of the current entry is kept; that of the tab is kept under `KEY`, too. */
  get #key() {
    return `${KEY}-${this.entry}`;
  }

  /** Go on with the battle that was kept at this address, unless another one begins meanwhile.
   * Returns whether there was one.
   */
  async recall() {
    return (await this.#recall(this.#key)) || this.#recall(KEY);
  }

  async #recall(key) {
    const battle = stored(() => JSON.parse(sessionStorage.getItem(key)));
    if (!battle || battle.address !== location.hash) return false;
    try {
      const known = (player) => this.world.players.some(({ spec }) => spec === player);
      for (const side of Object.keys(battle.seats)) {
        if (!known(battle.seats[side])) battle.seats[side] = YOU; // the server was started without it
      }
      if (!(await this.game.begin(battle))) return true;
      if (battle.at > 0) await this.game.go(this.game.line[battle.at - 1]);
      this.game.proceed().catch(complain);
      return true;
    } catch (error) {
      if (error instanceof Unanswered) throw error; // another time
      stored(() => sessionStorage.removeItem(key)); // it is of another version, or of a game that is not known any longer
      return false;
    }
  }
}
