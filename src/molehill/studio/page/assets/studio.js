// The page of the studio: it asks for what is shown, tells what was clicked, and keeps nothing but where the reader is.
const main = document.getElementById("main");
const message = document.getElementById("message");
const error = document.getElementById("error");
const busy = document.getElementById("busy");

// The token is behind # in the address that was opened. It is kept for this tab, and leaves the address at once.
const given = /[#&]token=([\w-]+)/.exec(location.hash);
if (given !== null) {
  sessionStorage.setItem("token", given[1]);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";
const here = {
  get project() { return sessionStorage.getItem("project"); },
  set project(name) { name === null ? sessionStorage.removeItem("project") : sessionStorage.setItem("project", name); },
  step: "file",
  run: null,
};
let working = 0;
let asked = 0;

// Says that something is being done, until all that was begun has ended.
async function during(work) {
  working += 1;
  busy.hidden = false;
  document.documentElement.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    working -= 1;
    busy.hidden = working === 0;
    document.documentElement.setAttribute("aria-busy", `${working > 0}`);
  }
}

const ask = (path, fields, step = here.step) => during(() => request(path, fields, step));

async function request(path, fields, step) {
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: {"content-type": "application/json", "x-molehill-token": token},
      body: JSON.stringify({project: here.project, step, fields}),
    });
    return await read(answer);
  } catch (problem) {
    if (problem instanceof Refused) {
      throw problem;
    }
    throw new Refused("The studio does not answer. Start it again: molehill studio. Runs that were begun go on.");
  }
}

class Refused extends Error {}

async function read(answer) {
  const text = await answer.text();
  let content = {};
  try {
    content = JSON.parse(text);
  } catch {
    content = {error: text};
  }
  if (!answer.ok || content.error) {
    throw new Refused(content.error || "The studio could not do that.");
  }
  return content;
}

function tell(text) {
  message.textContent = text;
  error.textContent = "";
}

function complain(problem) {
  message.textContent = "";
  error.textContent = problem.message;
  error.scrollIntoView({block: "nearest"});
}

// Puts what was answered in its place: a part of the step, or the whole of it, with the focus where it was.
function show(content) {
  error.textContent = "";
  if (content.part !== undefined) {
    const part = document.getElementById(content.part);
    if (part !== null) {
      keepPlace(part, content.html);
    }
    return;
  }
  const moved = content.step !== here.step || content.project !== here.project;
  here.step = content.step;
  here.project = content.project;
  if (location.hash !== `#${content.step}`) {
    history.pushState(null, "", `#${content.step}`);
  }
  keepPlace(main, content.html);
  document.title = `Molehill studio: ${content.step}`;
  tell(content.message ?? "");
  if (moved) {
    window.scrollTo(0, 0);
    main.querySelector("h1")?.focus();
  }
  afterwards();
}

function keepPlace(box, html) {
  const focused = document.activeElement?.id;
  const inside = box.contains(document.activeElement);
  const open = [...box.querySelectorAll("details[id][open]")].map((one) => one.id);
  const closed = [...box.querySelectorAll("details[id]:not([open])")].map((one) => one.id);
  box.innerHTML = html;
  for (const id of open) {
    document.getElementById(id)?.setAttribute("open", "");
  }
  for (const id of closed) {
    document.getElementById(id)?.removeAttribute("open");
  }
  if (focused) {
    document.getElementById(focused)?.focus({preventScroll: true});
  }
  // What had the focus may be gone, or may not take it any more.
  if (inside && document.activeElement === document.body) {
    main.querySelector("h1")?.focus({preventScroll: true});
  }
}

// What a step does by itself once it is there: figures are drawn one by one, and a run is watched.
function afterwards() {
  for (const figure of main.querySelectorAll("figure[data-picture]")) {
    draw(figure, figure.dataset.picture);
  }
  if (document.getElementById("other-intruder") !== null) {
    lookAsOther();
  }
  watch();
}

async function draw(figure, name) {
  try {
    const content = await ask("/view", {part: "picture", name, run: figure.dataset.run ?? here.run});
    figure.innerHTML = content.html;
  } catch (problem) {
    figure.textContent = problem.message;
  }
}

let watching = 0;
function watch() {
  clearTimeout(watching);
  const box = main.querySelector("[data-poll]");
  if (box === null) {
    return;
  }
  watching = setTimeout(async () => {
    const state = box.dataset.state;
    try {
      show(await ask("/view", {part: box.dataset.poll}));
      const now = document.getElementById("run-state")?.dataset.state;
      if (now !== state) {
        await go(here.step);
        tell(now === "released" ? "The run is done." : "");
        return;
      }
    } catch (problem) {
      complain(problem);
    }
    watch();
  }, 1000);
}

async function go(step, fields = {}) {
  try {
    show(await ask("/view", here.run === null ? fields : {run: here.run, ...fields}, step));
  } catch (problem) {
    // A project that is gone, or cannot be shown, must not keep the page from opening another one.
    if (here.project !== null && main.querySelector("h1") === null) {
      here.project = null;
      await go("file");
    }
    complain(problem);
  }
}

async function act(fields) {
  asked += 1;
  try {
    show(await ask("/do", fields));
    return true;
  } catch (problem) {
    complain(problem);
    return false;
  }
}

function fieldsOf(element) {
  const fields = {};
  for (const [name, value] of Object.entries(element.dataset)) {
    if (name.startsWith("list")) {
      fields[name.slice(4).toLowerCase()] = JSON.parse(value);
    } else if (name !== "live") {
      fields[name] = value;
    }
  }
  return fields;
}

function valueOf(control) {
  return control.type === "checkbox" ? control.checked : control.value;
}

main.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button === null || button.disabled || button.type === "submit") {
    return;
  }
  if (button.dataset.step) {
    go(button.dataset.step);
  } else if (button.dataset.ticket) {
    openTicket(button);
  } else if (button.dataset.part) {
    ask("/view", {part: button.dataset.part, path: button.dataset.path ?? ""}).then(show, complain);
  } else if (button.dataset.view !== undefined) {
    go(here.step, button.dataset.shown ? {shown: true} : {});
  } else if (button.dataset.action && (!button.dataset.sure || window.confirm(button.dataset.sure))) {
    act(fieldsOf(button));
  }
});

main.addEventListener("change", (event) => {
  const control = event.target;
  if (control.id === "upload") {
    send(control.files[0]);
  } else if (control.dataset.runChoice !== undefined) {
    here.run = control.value;
    go(here.step);
  } else if (control.dataset.morePictures !== undefined) {
    const figure = document.getElementById("more-picture");
    figure.dataset.run = control.dataset.run;
    figure.textContent = "";
    if (control.value) {
      draw(figure, control.value);
    }
  } else if (control.id === "new-rule") {
    document.getElementById("new-bound").value = control.selectedOptions[0].dataset.bound;
  } else if (control.closest("#other-intruder") !== null) {
    lookAsOther();
  } else if (control.dataset.action) {
    during(async () => {
      if (!(await act({...fieldsOf(control), value: valueOf(control)}))) {
        // What was refused is not left standing as if it had been taken.
        const problem = error.textContent;
        await go(here.step);
        error.textContent = problem;
      }
    });
  }
});

// While a slider moves, only its figures follow: one question at a time, and always the last one.
let pending = null;
let trying = false;
async function tryLive() {
  if (trying) {
    return;
  }
  trying = true;
  while (pending !== null) {
    const [path, fields] = pending;
    pending = null;
    const before = asked;
    try {
      const content = await ask(path, fields);
      if (before === asked) {
        show(content);
      }
    } catch (problem) {
      complain(problem);
    }
  }
  trying = false;
}

main.addEventListener("input", (event) => {
  const control = event.target;
  if (control.type !== "range") {
    return;
  }
  const shown = document.getElementById(`${control.id}-value`);
  if (shown !== null) {
    shown.textContent = control.value;
  }
  if (control.dataset.live) {
    pending = ["/do", {...fieldsOf(control), value: control.value, try: true}];
    tryLive();
  } else if (control.closest("#other-intruder") !== null) {
    lookAsOther();
  }
});

function lookAsOther() {
  const form = document.getElementById("other-intruder");
  const known = [...form.querySelectorAll("input[name=known]:checked")].map((box) => box.value);
  const radius = form.querySelector("input[name=radius]").value;
  pending = ["/view", {part: "other", run: form.dataset.run, known, radius}];
  tryLive();
}

main.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.dataset.action) {
    act({...fieldsOf(form), ...Object.fromEntries(new FormData(form))});
  }
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=range]):not([type=checkbox]), textarea") !== null;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing && here.project !== null) {
    event.preventDefault();
    act({action: event.shiftKey ? "redo" : "undo"});
  }
});

const STEPS = ["file", "columns", "intruder", "rule", "run", "compare", "sign"];
window.addEventListener("popstate", () => {
  const step = location.hash.slice(1);
  if (STEPS.includes(step) && step !== here.step && here.project !== null) {
    go(step);
  }
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

// Files: dropped or chosen, sent as they are.
function send(file) {
  if (file === undefined) {
    return;
  }
  const bar = document.getElementById("uploaded");
  bar.hidden = false;
  const request = new XMLHttpRequest();
  request.open("PUT", "/upload");
  request.setRequestHeader("x-molehill-token", token);
  request.setRequestHeader("x-molehill-name", encodeURIComponent(file.name));
  request.setRequestHeader("x-molehill-sheet", encodeURIComponent(document.getElementById("sheet")?.value ?? ""));
  request.upload.addEventListener("progress", (event) => { bar.value = event.loaded / Math.max(event.total, 1); });
  const end = (text) => { bar.hidden = true; complain(new Error(text)); };
  request.addEventListener("load", () => {
    let content = {};
    try {
      content = JSON.parse(request.responseText);
    } catch {
      content = {error: request.responseText};
    }
    if (request.status === 200 && !content.error) {
      show(content);
    } else {
      end(content.error || "The file was refused.");
    }
  });
  request.addEventListener("error", () => end("The file could not be sent: it is too large, or the studio does not answer."));
  during(() => new Promise((done) => {
    request.addEventListener("loadend", done);
    request.send(file);
  }));
}

function dropZone(event) {
  return event.dataTransfer?.types.includes("Files") ? document.getElementById("drop") : null;
}
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    const zone = dropZone(event);
    if (zone === null) {
      return;
    }
    event.preventDefault();
    zone.classList.toggle("over", kind === "dragover");
    if (kind === "drop") {
      send(event.dataTransfer.files[0]);
    }
  });
}

// The order of drawing: a column is dragged before another one.
let dragged = null;
main.addEventListener("dragstart", (event) => { dragged = event.target.closest(".order li"); });
main.addEventListener("dragover", (event) => {
  const over = event.target.closest(".order li");
  if (dragged !== null && over !== null) {
    event.preventDefault();
    main.querySelectorAll(".order li").forEach((one) => one.classList.toggle("over", one === over));
  }
});
main.addEventListener("drop", (event) => {
  const over = event.target.closest(".order li");
  if (dragged !== null && over !== null && over !== dragged) {
    event.preventDefault();
    const down = [...over.parentNode.children];
    const later = down.indexOf(over) > down.indexOf(dragged);
    const before = later ? over.nextElementSibling?.dataset.column ?? "" : over.dataset.column;
    act({action: "order", column: dragged.dataset.column, before});
  }
  dragged = null;
});

async function openTicket(button) {
  try {
    const content = await ask("/ticket", {what: button.dataset.ticket, run: button.dataset.run});
    const link = document.createElement("a");
    link.href = content.address;
    if (button.dataset.save) {
      link.download = "";
    } else {
      // A tab of its own, which has nothing of this one: not its storage, and no way back to it.
      link.target = "_blank";
      link.rel = "noopener noreferrer";
    }
    link.click();
  } catch (problem) {
    complain(problem);
  }
}

if (token === "") {
  complain(new Error("Open the address that `molehill studio` printed: it holds the key to this page."));
} else {
  const wanted = location.hash.slice(1);
  await go(here.project === null || !STEPS.includes(wanted) ? (here.project === null ? "file" : "columns") : wanted);
}
document.documentElement.classList.add("ready");
