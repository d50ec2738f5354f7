// Search over the pages and the reference, for the entries that docs/site/build.py writes to search_data.js:
// [kind, name, page title, address, text], kind 0 for a page, 1 for a section, 2 for a symbol. It needs no server.
const Search = {
  weights: [30, 15, 6],  // of a word in the name, by kind

  // Lower-case words with a space before each; identifiers also in their parts.
  normal(text) {
    const parts = (word) => word + " " + word.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4");
    return " " + text.replace(/\w*[a-zA-Z0-9][A-Z]\w*/g, parts).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim() + " ";
  },

  // A word without its ending: pooling, pooled and pools have pool in common.
  stem(word) {
    const stem = word.replace(/(ing|ings|ed|er|ers|es|s)$/, "").replace(/([b-df-hj-np-tv-z])\1$/, "$1");
    return stem.length < 3 ? word : stem;
  },

  // How well a word fits a normal text, from 0 to 1.
  fit(text, word, stem) {
    return text.includes(` ${word} `) ? 1 : text.includes(` ${word}`) ? 0.7 : text.includes(` ${stem}`) ? 0.5 : 0;
  },

  score(entry, words, query) {
    const symbol = entry.kind === 2;
    let sum = 0;
    for (const word of words) {
      const stem = this.stem(word);
      const [name, title, text] = entry.normal.map((field) => this.fit(field, word, stem));
      const count = text ? Math.min(entry.normal[2].split(` ${stem}`).length, 5) : 0;
      const best = Math.max(name * this.weights[entry.kind], title * (symbol ? 1 : 3), text * (symbol ? 1 : 4) + count * 0.4);
      if (!best) return 0;  // every word must occur
      sum += best;
    }
    const phrase = ` ${words.join(" ")}`;
    if (words.length > 1 && entry.normal[0].includes(phrase)) sum *= 1.5;
    else if (words.length > 1 && entry.normal[2].includes(phrase)) sum += symbol ? 1 : 6;
    // A name as it is written in code.
    if (symbol && /[A-Z_:]/.test(query) && `::${entry.name}`.endsWith(`::${query}`)) sum += 100;
    return sum;
  },

  // The best entries, of one page or class at most three.
  find(entries, query, limit = 14) {
    const words = this.normal(query.toLowerCase()).trim().split(" ").filter(Boolean);
    if (!words.length) return [];
    const counts = {};
    return entries
      .map((entry) => [this.score(entry, words, query.trim()), entry])
      .filter(([score]) => score)
      .sort(([a], [b]) => b - a)
      .map(([, entry]) => entry)
      .filter((entry) => (counts[entry.page] = (counts[entry.page] || 0) + 1) <= 3)
      .slice(0, limit);
  },

  prepare(rows) {
    return rows.map(([kind, name, title, address, text]) => ({
      kind, name, title, address, text, page: address.split("#")[0], normal: [name, title, text].map((field) => this.normal(field)),
    }));
  },

  // The part of a text around the first of the words.
  excerpt(text, query) {
    const starts = this.normal(query.toLowerCase()).trim().split(" ").map((word) => text.toLowerCase().indexOf(this.stem(word)));
    const first = Math.max(0, Math.min(...starts.filter((start) => start >= 0), text.length) - 40);
    const from = first && first < text.length - 40 ? text.indexOf(" ", first) + 1 : 0;
    return (from ? "… " : "") + text.slice(from, from + 130) + (text.length > from + 130 ? " …" : "");
  },

  show() {
    const query = this.field.value;
    this.list.replaceChildren();
    for (const entry of query.trim() ? this.find(this.entries, query) : []) {
      const link = document.createElement("a");
      link.href = entry.address;
      const name = link.appendChild(document.createElement("b"));
      name.textContent = entry.name;
      if (entry.title && entry.title !== entry.name) link.append(` ${entry.title}`);
      link.appendChild(document.createElement("small")).textContent = this.excerpt(entry.text, query);
      this.list.append(link);
    }
    if (query.trim() && !this.list.children.length) this.list.textContent = "Nothing found";
    this.list.hidden = !query.trim();
  },

  // Entries are read when somebody searches.
  load() {
    if (this.entries) return this.show();
    const script = document.createElement("script");
    script.src = "search_data.js";
    script.onload = () => {
      this.entries = this.prepare(SEARCH_DATA);
      this.show();
    };
    document.head.append(script);
  },

  start() {
    this.field = document.getElementById("MSearchField");
    this.list = document.getElementById("search-results");
    this.field.addEventListener("input", () => this.load());
    document.addEventListener("keydown", (event) => {
      const typing = event.target === this.field;
      const links = [...this.list.querySelectorAll("a")];
      const place = links.indexOf(document.activeElement);
      if (event.key === "/" && !typing && !/input|textarea/i.test(event.target.tagName)) this.field.focus();
      else if (event.key === "Escape") this.list.hidden = true;
      else if (typing && event.key === "Enter" && links.length) links[0].click();
      else if ((typing || place >= 0) && event.key === "ArrowDown" && place + 1 < links.length) links[place + 1].focus();
      else if (place >= 0 && event.key === "ArrowUp") (links[place - 1] || this.field).focus();
      else return;
      event.preventDefault();
    });
    document.addEventListener("click", (event) => {
      if (!event.target.closest("#MSearchBox")) this.list.hidden = true;
    });
    const query = new URLSearchParams(location.search).get("search");  // index.html?search=pooling
    if (query) {
      this.field.value = query;
      this.load();
    }
  },
};

document.addEventListener("DOMContentLoaded", () => Search.start());
