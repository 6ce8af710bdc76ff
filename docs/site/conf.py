# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes one site of README.md and the pages of docs/: `make site` (docs/decisions/site.md)."""

import posixpath
import re
import shutil
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]

# The order of the pages is that of the sidebar.
STRUCTURE = {
    "First steps": """docs/ten-minutes docs/first-training docs/first-budget docs/first-curve docs/which-mechanism
        docs/faq""",
    "How-to": """docs/recipes docs/python docs/frameworks docs/integrations docs/interchange docs/http docs/budgets
        docs/datasets docs/sets docs/dashboard docs/spending docs/webhooks docs/statement docs/access docs/identities
        deploy/README docs/operations docs/durability docs/fleet docs/audit""",
    "Reference": "docs/cli docs/mechanisms docs/glossary docs/benchmarks docs/comparison docs/conformance SECURITY CHANGELOG",
    "Proofs": "docs/math/README docs/math/*",
    "Decisions": "docs/decisions/README docs/decisions/*",
    "For contributors": "ARCHITECTURE CONTRIBUTING docs/releasing oracle/README conformance/README bench/peers/results",
}


def pages(names):
    """The names, with every * replaced by the pages of its folder that were not named before it."""
    named = names.split()
    for name in named:
        if not name.endswith("*"):
            yield name
            continue
        for path in sorted((ROOT / name).parent.glob("*.md")):
            if (page := path.relative_to(ROOT).with_suffix("").as_posix()) not in named:
                yield page


project = "Privacy accountant"
author = "the privacy accountant's authors"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", *(f"{page}.md" for group in STRUCTURE.values() for page in pages(group))]
exclude_patterns = ["**/node_modules", "**/.venv*", "**/testdata", ".git", "_site", "bin", "dist", "internal", "cmd", "gen", "proto"]
highlight_language = "none"
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # a console block may show JSON or CSV

myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_digits = False
myst_dmath_allow_space = False
myst_heading_anchors = 6

html_theme = "furo"
html_title = "Privacy accountant"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_math_renderer = "mathml"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))

LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s#]+)(#[^)\s]*)?\)")


def prepare(app, page, source):
    """Gives README the structure, and takes links off what is no file of the site and no single file to hand out."""
    folder = posixpath.dirname(page)

    def link(found):
        text, target, fragment = found.groups()
        path = ROOT / posixpath.normpath(posixpath.join(folder, target))
        if "://" in target or not path.is_dir():
            return found[0]
        return f"{text}({target.rstrip('/')}/README.md)" if (path / "README.md").is_file() else text[1:-1]

    source[0] = LINK.sub(link, source[0])
    if page == root_doc:
        for title, names in STRUCTURE.items():
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join("/" + p for p in pages(names)) + "\n```\n"


# Commands that docutils does not know, and others that look the same.
COMMANDS = {r"\lt": "<", r"\gt": ">", r"\dots": r"\cdots", r"\Bigm|": r"\mid"}


def mathml(tex, block):
    """A formula as MathML, which browsers draw without a script and without fonts of ours."""
    for command, other in COMMANDS.items():
        tex = re.sub(re.escape(command) + r"(?![A-Za-z])", lambda _: other, tex)
    return latex2mathml.tex2mathml(tex, as_block=block)


def inline(self, node):
    self.body.append(mathml(node.astext(), False))
    raise nodes.SkipNode


def display(self, node):
    self.body.append(f'<div class="math">{mathml(node.astext(), True)}</div>')
    raise nodes.SkipNode


def first_page(app, failure):
    """The folder's own page is README's."""
    if failure is None and app.builder.name == "html":
        out = Path(app.outdir)
        shutil.copyfile(out / "README.html", out / "index.html")


def setup(app):
    if not (ROOT / "README.md").is_file():
        raise ConfigError("docs/site/conf.py has to be two folders below the clone")
    app.connect("source-read", prepare)
    app.connect("build-finished", first_page)
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
