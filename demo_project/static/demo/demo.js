"use strict";

// What one response says of a policy, by the headers of draft-ietf-httpapi-ratelimit-headers:
//   RateLimit-Policy: "gcra";q=10;w=30      RateLimit: "gcra";r=3;t=21
function read(headers, slug) {
  const item = (name) =>
    (headers.get(name) || "").split(",").find((each) => each.trim().startsWith(`"${slug}"`)) || "";
  const number = (text, parameter) => {
    const found = text.match(new RegExp(`;\\s*${parameter}=(\\d+)`));
    return found ? Number(found[1]) : null;
  };
  const policy = item("RateLimit-Policy");
  const state = item("RateLimit");
  return {
    capacity: number(policy, "q"),
    window: number(policy, "w"),
    remaining: number(state, "r"),
    wait: number(state, "t") || 0,
  };
}

class Card {
  constructor(element) {
    this.element = element;
    this.slug = element.dataset.slug;
    this.meter = element.querySelector("meter");
    this.buttons = [...element.querySelectorAll("button")];
    this.admitted = 0;
    this.refused = 0;
    this.retryAt = 0;
    this.sending = false;
    for (const button of this.buttons) {
      button.addEventListener("click", () => this.send(Number(button.dataset.count)));
    }
  }

  show(name, text) {
    const place = this.element.querySelector(`[data-show="${name}"]`);
    if (place.textContent !== text) place.textContent = text;
  }

  // Requests of one burst run at once, so their answers may come in any order.
  async send(count) {
    this.sending = true;
    for (const button of this.buttons) button.disabled = true;
    const ask = () => fetch(this.element.dataset.send, { cache: "no-store" });
    let answers = [];
    try {
      answers = await Promise.all(Array.from({ length: count }, ask));
      this.count(answers);
    } catch {
      this.result("The server does not answer.", "refused");
    } finally {
      for (const button of this.buttons) button.disabled = false;
      this.sending = false;
    }
    await this.refresh();
  }

  count(answers) {
    const refusals = answers.filter((answer) => answer.status === 429);
    const admitted = answers.filter((answer) => answer.ok).length;
    const failed = answers.length - admitted - refusals.length;
    this.admitted += admitted;
    this.refused += refusals.length;
    this.show("admitted", String(this.admitted));
    this.show("refused", String(this.refused));
    let text = `Sent ${answers.length}: ${admitted} admitted, ${refusals.length} refused`;
    text += failed ? `, ${failed} failed.` : ".";
    const waits = refusals.map((answer) => answer.headers.get("Retry-After")).filter(Boolean);
    if (waits.length) {
      const wait = Math.max(...waits.map(Number));
      this.retryAt = Date.now() + 1000 * wait;
      text += ` Try again in ${wait} s.`;
    } else if (!refusals.length) {
      this.retryAt = 0;
    }
    this.result(text, refusals.length || failed ? "refused" : "admitted");
  }

  result(text, kind) {
    const place = this.element.querySelector('[data-show="result"]');
    place.dataset.kind = kind;
    place.textContent = text;
  }

  // Asks what is left without spending any of it.
  async refresh() {
    if (this.sending) return;
    try {
      const answer = await fetch(this.element.dataset.level, { cache: "no-store" });
      this.level(read(answer.headers, this.slug));
    } catch {
      this.show("left", "unknown: no answer");
    }
  }

  level({ capacity, window, remaining, wait }) {
    const seconds = Math.ceil((this.retryAt - Date.now()) / 1000);
    this.show("retry", remaining !== 0 ? "now" : seconds > 0 ? `in ${seconds} s` : "not yet");
    if (remaining === null) {
      this.show("policy", "No limit is in force.");
      this.show("left", "unlimited");
      this.meter.max = this.meter.value = 1;
      return;
    }
    this.show("policy", `${capacity} in ${window} s${wait ? `, full again in ${wait} s` : ""}`);
    this.show("left", `${remaining} of ${capacity}`);
    this.meter.max = Math.max(1, capacity);
    this.meter.value = remaining;
  }
}

const cards = [...document.querySelectorAll(".card")].map((element) => new Card(element));
const refreshAll = () => document.hidden || cards.forEach((card) => card.refresh());
refreshAll();
setInterval(refreshAll, 1000);
