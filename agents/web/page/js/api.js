// Sends requests to the server, which alone knows the rules.

/** The server is not there, or the tab has left the page before the answer. */
export class Unanswered extends Error {}

/** A connection that fails, or breaks while an answer comes, in words. */
function unanswered(error) {
  if (error.name === "AbortError") throw error;
  throw new Unanswered("The server does not answer. Is it still running in the terminal?");
}

async function post(name, message, signal) {
  const answer = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(message),
    signal,
  }).catch(unanswered);
  if (!answer.ok) {
    const refused = await answer.json().catch(() => ({}));
    throw new Error(refused.error ?? `The server answered ${answer.status}.`);
  }
  return answer;
}

/** Send a request and return its answer. */
export async function ask(name, message = {}, signal = undefined) {
  return (await post(name, message, signal)).json();
}

/** Send a request and yield its answers, one a line, as they arrive. */
export async function* listen(name, message, signal) {
  const answer = await post(name, message, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(unanswered);
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const found = JSON.parse(line);
      if (found.error) throw new Error(found.error);
      yield found;
    }
  }
}
