// The graph of a plan: boxes where the server says, in the colours and with the marks of their states. A closed
// container opens by a click, an open one closes, a leaf leads to its page. States follow the live part of the page;
// what the search finds in the table is lit here.
"use strict";
{
  const place = document.getElementById("graph");
  const said = document.getElementById("graph-said");
  const tools = document.querySelector(".graph .tools");
  const LEAF = 0, CLOSED = 1, OPEN = 2;
  const KINDS = ["box", "closed box", "open"];
  const MARKS = { done: "✓", partial: "◐", running: "▶", ready: "◎", pending: "○", blocked: "■", cancelled: "–" };
  // Seen from afar a name cannot be read: the outline says the state as well.
  const SHAPES = {
    done: "round-rectangle", partial: "bottom-round-rectangle", running: "round-tag", ready: "barrel",
    pending: "rectangle", blocked: "cut-rectangle", cancelled: "rectangle",
  };
  const MANY = 800; // nodes above which smoothness goes before beauty
  const READABLE = 0.8; // of its size, below which a whole graph is not squeezed at first
  const TURNED = 0.6; // of its size, below which it is turned downwards where it is larger then
  const LOWEST = 200; // pixels that the frame has at least; a flat graph needs no more

  let cy = null;
  let drawn = null; // the answer that is drawn
  let way = "right"; // where the arrows lead
  let opened = null; // ids of open containers; null as long as the server chooses

  // Colours

  const inks = () => {
    const probe = document.body.appendChild(document.createElement("i"));
    const found = {};
    for (const name of [...Object.keys(MARKS), "text", "muted", "panel", "raised", "accent"]) {
      probe.className = `ink-${name}`;
      found[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return found;
  };
  const mixed = (ink, ground, share) => {
    const [a, b] = [ink, ground].map((colour) => colour.match(/[\d.]+/g).map(Number));
    return `rgb(${[0, 1, 2].map((part) => Math.round(a[part] * share + b[part] * (1 - share))).join(",")})`;
  };
  const style = () => {
    const ink = inks();
    const arrow = mixed(ink.muted, ink.panel, 0.6);
    const font = getComputedStyle(document.body).fontFamily;
    const states = Object.keys(MARKS).map((state) => ({
      selector: `node.${state}`,
      style: {
        "border-color": ink[state],
        "background-color": mixed(ink[state], ink.panel, state === "done" ? 0.22 : state === "pending" ? 0.02 : 0.12),
        "border-style": state === "pending" ? "dashed" : state === "cancelled" ? "dotted" : "solid",
      },
    }));
    const shapes = Object.entries(SHAPES).map(([state, shape]) => ({ selector: `node.${state}.box`, style: { shape } }));
    return [
      { selector: "node", style: {
        width: 150, height: 28, shape: "round-rectangle", label: "data(label)", color: ink.text, "font-size": 12, "font-family": font,
        "text-valign": "center", "text-halign": "center", "text-wrap": "ellipsis", "text-max-width": 136,
        "min-zoomed-font-size": 5, "border-width": 1.5, "overlay-opacity": 0,
      } },
      ...states, ...shapes,
      { selector: "node.running, node.blocked", style: { "border-width": 3 } },
      { selector: "node.closed", style: { "border-width": 3, "border-style": "double" } },
      { selector: "node:parent", style: {
        shape: "round-rectangle", "text-valign": "top", "text-halign": "center", "text-margin-y": 17, padding: 14,
        "background-color": ink.raised, "background-opacity": 0.6, "border-width": 1, "text-max-width": 400,
        // Room for its name above what lies in it, as the layout has it.
        "min-width": "data(width)", "min-height": "data(height)", "min-height-bias-top": "100%", "min-height-bias-bottom": "0%",
      } },
      { selector: "edge", style: {
        width: 1.2, "line-color": arrow, "target-arrow-color": arrow, "target-arrow-shape": "triangle",
        "arrow-scale": 0.8, "curve-style": "straight", "overlay-opacity": 0,
      } },
      { selector: "edge.waived", style: { "line-style": "dashed" } },
      { selector: ".dim", style: { opacity: 0.2 } },
      { selector: "node.hit", style: { "border-color": ink.accent, "border-width": 4, "border-style": "solid" } },
    ];
  };

  // Drawing

  const ask = async (address) => {
    const there = new URL(address, location.href);
    if (opened) there.searchParams.set("open", [...opened].join(","));
    // All pages that were told of the same change are shown the same.
    const told = document.getElementById("live")?.dataset.revision ?? "";
    const answer = await fetch(there, { headers: { Accept: "application/json", Told: told } });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    return answer.json();
  };
  const labelled = (found, number) => {
    const name = drawn.names[found.states[number]];
    const [, parent, key] = drawn.nodes[number];
    const counts = found.counts[number];
    const shown = parent < 0 ? key : key.slice(key.indexOf("/") + 1);
    return { state: name, label: `${MARKS[name]} ${shown}${counts ? ` ${counts[0]}/${counts[1]}` : ""}` };
  };
  const elements = (found) => [
    ...drawn.nodes.map(([id, parent, key, title, kind], number) => {
      const said = labelled(found, number);
      const [x, y, width, height] = drawn.places[way][number];
      return {
        group: "nodes", classes: `${KINDS[kind]} ${said.state}`,
        data: { id: String(number), parent: parent < 0 ? undefined : String(parent), node: id, key, title, kind, width, height, ...said },
        position: kind === OPEN ? undefined : { x, y },
      };
    }),
    ...drawn.edges.map(([source, target, waived]) => ({
      group: "edges", classes: waived ? "waived" : "", data: { source: String(source), target: String(target) },
    })),
  ];
  // The box around all of it, from what the server said: the library would measure each label for it.
  const extent = (turned = way) => {
    const around = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };
    for (const [x, y, width, height] of drawn.places[turned]) {
      const half = [width / 2 + 14, height / 2 + 14];
      around.x1 = Math.min(around.x1, x - half[0]);
      around.x2 = Math.max(around.x2, x + half[0]);
      around.y1 = Math.min(around.y1, y - half[1]);
      around.y2 = Math.max(around.y2, y + half[1]);
    }
    return around;
  };
  // How large all of it is in the frame, at its own size at most.
  const scale = (turned) => {
    const { x1, y1, x2, y2 } = extent(turned);
    return Math.min(1, (place.clientWidth - 32) / (x2 - x1), (place.clientHeight - 32) / (y2 - y1));
  };
  const turn = () => {
    place.style.height = ""; // as tall as the style sheet says
    way = scale("right") < TURNED && scale("down") > scale("right") ? "down" : "right";
    place.dataset.way = way;
  };
  const fit = (least = 0) => {
    const { x1, y1, x2, y2 } = extent();
    const [wide, high] = [cy.width() - 32, cy.height() - 32];
    const zoom = Math.max(least, Math.min(1, wide / (x2 - x1), high / (y2 - y1)));
    const start = (room, from, to) => 16 - from * zoom + Math.max(0, (room - (to - from) * zoom) / 2);
    cy.viewport({ zoom, pan: { x: start(wide, x1, x2), y: start(high, y1, y2) } });
  };
  const first = () => {
    const { x1, y1, x2, y2 } = extent();
    const size = Math.max(READABLE, Math.min(1, (place.clientWidth - 32) / (x2 - x1)));
    place.style.height = ""; // as tall as the style sheet says, or as the graph is where that is less
    const wanted = Math.max(LOWEST, Math.ceil((y2 - y1) * size + 32));
    if (wanted < place.clientHeight) place.style.height = `${wanted}px`;
    cy.resize();
    fit(READABLE); // what is too large shows its start; the rest is a drag away
  };
  const draw = async (keep) => {
    const began = performance.now();
    const view = keep && cy ? { at: where(keep), zoom: cy.zoom() } : null;
    let found;
    [drawn, found] = await Promise.all([ask(place.dataset.graph), ask(place.dataset.states)]);
    if (found.tag !== drawn.tag) found = await ask(place.dataset.states); // it was imported again between the two
    if (!view) turn(); // what somebody is looking at stays as it is
    const many = drawn.nodes.length > MANY;
    cy?.destroy();
    lit = false;
    cy = cytoscape({
      container: place, elements: elements(found), style: style(), layout: { name: "preset", fit: false },
      autoungrabify: true, autounselectify: true, boxSelectionEnabled: false, minZoom: 0.03, maxZoom: 3,
      hideEdgesOnViewport: many, textureOnViewport: many, pixelRatio: many ? 1 : "auto",
    });
    opened = new Set(drawn.nodes.filter((node) => node[4] === OPEN).map((node) => node[0]));
    listen();
    first();
    const now = view?.at && where(keep);
    if (now) { // what was clicked stays under the pointer
      cy.zoom(view.zoom);
      const there = where(keep);
      cy.panBy({ x: view.at.x - there.x, y: view.at.y - there.y });
    }
    light();
    tools.hidden = false;
    const closed = drawn.nodes.some((node) => node[4] === CLOSED);
    tell(drawn.left_off ? `${drawn.left_off} more are not drawn.` : "", closed ? "A click opens what has a double outline." : "");
    cy.one("render", () => {
      place.dataset.drawn = drawn.tag;
      place.dataset.took = Math.round(performance.now() - began);
    });
  };
  const tell = (...sentences) => { said.textContent = sentences.filter(Boolean).join(" "); };
  const where = (node) => {
    const box = cy.nodes().filter((each) => each.data("node") === node).renderedBoundingBox();
    return Number.isFinite(box.x1) ? { x: box.x1, y: box.y1 } : null;
  };

  const colour = async () => {
    const found = await ask(place.dataset.states);
    if (found.tag !== drawn.tag) return draw(); // imported again, or waived, meanwhile
    cy.batch(() => {
      drawn.nodes.forEach((_, number) => {
        const node = cy.getElementById(String(number));
        const said = labelled(found, number);
        if (said.label === node.data("label") && said.state === node.data("state")) return;
        node.removeClass(node.data("state")).addClass(said.state).data(said);
      });
    });
  };

  // What is sought is lit and the rest dimmed: what is drawn is looked through here, what lies in closed containers is
  // in the table, as far as that goes.
  const fold = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const sought = (table) => {
    const { q, state } = table.dataset;
    const word = fold(q);
    const found = new Set();
    for (const row of table.querySelectorAll("tr[data-node]")) {
      if (row.dataset.node !== row.dataset.lane) found.add(row.dataset.node).add(row.dataset.lane);
    }
    return cy.nodes().filter((node) => {
      const { key, title, kind, node: id, state: now } = node.data();
      if (kind === CLOSED && found.has(id)) return true;
      return (!state || (kind === LEAF && now === state)) && (fold(key).includes(word) || fold(title).includes(word));
    });
  };
  let lit = false;
  const light = (move = false) => {
    cy.batch(() => {
      const table = document.querySelector(".objectives[data-q]");
      if (lit) cy.elements().removeClass("dim hit");
      lit = Boolean(table);
      if (!table) return;
      const hits = sought(table).addClass("hit");
      cy.elements().not(hits).not(hits.ancestors()).not(hits.descendants()).addClass("dim");
      const { x1, y1, x2, y2 } = cy.extent();
      const seen = ({ x, y }) => x > x1 && x < x2 && y > y1 && y < y2;
      if (move && hits.nonempty() && !hits.some((hit) => seen(hit.position()))) cy.center(hits.first());
    });
  };

  // Hands

  const follow = (event) => {
    const { node, kind } = event.target.data();
    if (kind === LEAF) return location.assign(`/nodes/${node}/`);
    if (kind === OPEN) opened.delete(node);
    else opened.add(node);
    return attempt(() => draw(node));
  };
  const listen = () => {
    cy.on("tap", "node", follow);
    cy.on("mouseover", "node", (event) => {
      const { key, title, state } = event.target.data();
      place.title = `${key}: ${title} (${state})`;
      place.style.cursor = "pointer";
    });
    cy.on("mouseout", "node", () => { place.title = ""; place.style.cursor = ""; });
  };
  const zoom = (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  const acts = {
    in: () => zoom(1.25), out: () => zoom(0.8), fit: () => fit(),
    close: () => { opened = new Set(); return attempt(() => draw()); },
  };
  const keys = {
    "+": acts.in, "=": acts.in, "-": acts.out, "0": acts.fit,
    ArrowLeft: () => cy.panBy({ x: 60, y: 0 }), ArrowRight: () => cy.panBy({ x: -60, y: 0 }),
    ArrowUp: () => cy.panBy({ x: 0, y: 60 }), ArrowDown: () => cy.panBy({ x: 0, y: -60 }),
  };
  tools.addEventListener("click", (event) => { acts[event.target.closest("button")?.dataset.graph]?.(); });
  place.addEventListener("keydown", (event) => {
    const act = cy && !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // One thing at a time: what is asked for while something is under way comes after it, once.
  let busy = Promise.resolve();
  const attempt = (work) => {
    busy = busy.then(work).catch((error) => tell(`The graph could not be drawn. ${error.message}`));
    return busy;
  };

  let looked = " ";
  let revision = document.getElementById("live")?.dataset.revision;
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "live" || !cy) return;
    const { q = "", state = "" } = document.querySelector(".objectives").dataset;
    light(looked !== (looked = `${q} ${state}`)); // what is newly sought is shown; what is live does not move the view
    const found = document.getElementById("live").dataset.revision;
    if (found === revision) return;
    revision = found;
    attempt(colour);
  });
  const restyle = () => { if (cy) cy.style(style()); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  new MutationObserver(restyle).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  attempt(() => draw());
}
