"""Templates to pages: self-contained files with a style, data, and one program of which the page knows the digest."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from grade.support import amount


def render(template: str, data: dict[str, Any], program_file: str = "page.js", **values: Any) -> str:
    """Fill a template of this folder with values, which are escaped. Several program files are joined by ``+``."""
    folder = files("grade.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    program = "".join((folder / name).read_text("utf-8") for name in program_file.split("+"))
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    environment.filters["amount"] = lambda pair: amount(*pair)
    environment.filters["settings"] = settings_as_code
    return environment.get_template(template).render(
        data=Markup(embedded(data)),
        program=Markup(program),
        style=Markup((folder / "page.css").read_text("utf-8")),
        program_hash=digest,
        **values,
    )


def settings_as_code(text: str) -> Markup:
    """A sentence whose settings, named in backquotes, are set as code.

    >>> settings_as_code("more than it keeps (`beam`) & <b>")
    Markup('more than it keeps (<code>beam</code>) &amp; &lt;b&gt;')
    """
    return Markup(re.sub(r"`(\w+)`", r"<code>\1</code>", str(escape(text))))


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or begin a comment.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
