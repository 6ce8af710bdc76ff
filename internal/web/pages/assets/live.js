// A ledger's page follows the ledger. The server sends the part of the page that has changed.
"use strict";
const part = document.querySelector("[data-live]");
const word = document.getElementById("live-state");
let source = null;
function follow() {
  if (!part || source || document.hidden) return;
  source = new EventSource(part.dataset.live);
  source.addEventListener("now", (event) => {
    part.innerHTML = event.data;
    word.textContent = "This page follows the ledger.";
  });
  source.addEventListener("who", (event) => {
    document.getElementById("spent").innerHTML = event.data;
  });
  source.addEventListener("end", () => {
    source.close();
    word.textContent = "The ledger is closed; nothing changes any more.";
  });
  source.onerror = () => {
    word.textContent = "The connection to the daemon is lost. This page tries again, and may be out of date.";
    if (source.readyState !== EventSource.CLOSED) return;
    source = null; // the daemon has refused to go on
    word.textContent = "This page no longer follows the ledger, and may be out of date. Load it again to see why.";
  };
}
function pause() {
  if (source) source.close();
  source = null;
}
// A hidden page needs nothing, and a browser has few connections.
document.addEventListener("visibilitychange", () => (document.hidden ? pause() : follow()));
window.addEventListener("pagehide", pause);
follow();
