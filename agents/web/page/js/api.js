// Asking the server. It knows the rules; nothing here does.

async function post(name, message, signal) {
  const answer = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(message),
    signal,
  }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer.");
  });
  if (!answer.ok) {
    const refused = await answer.json().catch(() => ({}));
    throw new Error(refused.error ?? `The server answered ${answer.status}.`);
  }
  return answer;
}

/** One question, one answer. */
export async function ask(name, message = {}, signal = undefined) {
  return (await post(name, message, signal)).json();
}

/** One question, and answers line by line as they come. */
export async function* listen(name, message, signal) {
  const answer = await post(name, message, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
