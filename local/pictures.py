"""Write the pictures of the examples' workflows, in their READMEs and beside them: `make pictures`."""

import re
from collections.abc import Mapping
from pathlib import Path

from local.emulator import PROJECT
from signpost.adapters.source_files import read_values
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.pictures.mermaid import render_mermaid
from signpost.workflow.pictures.model import build_picture
from signpost.workflow.pictures.svg import render_svg

MANIFESTS = sorted(PROJECT.glob("examples/*/manifest.yaml"))
_BLOCK = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)


def render_files(manifest: Path) -> Mapping[Path, str]:
    """Return the content of the README and the SVG file that show the workflow of a manifest, by path."""
    ((definition_id, document),) = read_values(manifest)["workflows"].items()
    picture = build_picture(parse_published_definition(definition_id, document))
    readme = manifest.parent / "README.md"
    block = f"```mermaid\n{render_mermaid(picture)}```"
    return {
        readme: _BLOCK.sub(lambda _: block, readme.read_text("utf-8"), count=1),
        manifest.parent / "picture.svg": render_svg(picture),
    }


if __name__ == "__main__":
    for manifest in MANIFESTS:
        for path, content in render_files(manifest).items():
            path.write_text(content, "utf-8")
            print(path.relative_to(PROJECT))
