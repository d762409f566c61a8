// Puts the page together.

import { ask } from "./api.js";
import { Dialogs } from "./dialogs.js";
import { complain } from "./dom.js";
import { Game, YOU } from "./game.js";
import { Insight } from "./insight.js";
import { isFirstVisit, Lessons } from "./lessons.js";
import { Memory } from "./memory.js";
import { Panel } from "./panel.js";
import { Table } from "./table.js";

const FIRST = { rules: "classic", limits: { agreement: true }, seats: { dwarfs: YOU, trolls: "greedy" } };

async function main() {
  const failed = ({ message }) => {
    complain(new Error(`${message} Reload the page to try again.`), { stays: true });
    return null;
  };
  const world = await ask("welcome").catch(failed);
  if (!world) return; // without it there is no game
  const root = document.documentElement.style;
  for (const [name, colour] of Object.entries(world.colours)) root.setProperty(`--${name}`, colour);
  const game = new Game(world);
  const table = new Table(world, game);
  const panel = new Panel(world, game, table);
  new Insight(world, game, () => panel.halt());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address names a battle, and no place on the page
    table.board.focus();
  });
  const dialogs = new Dialogs(world, game, () => (lessons.starting ? lessons.before ?? FIRST : game));
  const lessons = new Lessons(world, game, table.board, () => {
    const { before } = lessons;
    lessons.close();
    (before ? game.resume(before) : game.begin(FIRST)).catch(complain);
  });
  const memory = new Memory(world, game, lessons);
  addEventListener("popstate", ({ state }) => memory.turn(state, () => dialogs.follow()).catch(complain));
  addEventListener("unhandledrejection", ({ reason }) => complain(reason));
  document.body.dataset.ready = "yes";
  const recalled = await memory.recall().catch(failed);
  if (recalled !== false) return; // unless there was none: another battle would take its place
  if (await dialogs.follow().catch(complain)) return;
  if (isFirstVisit()) await lessons.start(0);
  else await game.begin(FIRST);
}

main().catch(complain);
