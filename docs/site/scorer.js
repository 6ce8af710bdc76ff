// How Sphinx orders what a search finds: pages for users before reference, and both before proofs and decisions.
var Scorer = {
  score: ([page, , , , score]) =>
    /^docs\/(math|decisions)\/|^(bench|oracle|ARCHITECTURE|CONTRIBUTING|CHANGELOG)/.test(page) ? score - 100
      : /^docs\/(cli|mechanisms|interchange|comparison|conformance|benchmarks)$/.test(page) ? score - 50 : score,
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
