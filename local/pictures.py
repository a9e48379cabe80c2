"""The pictures of the examples, in their READMEs and beside them: `make pictures` writes them anew."""

import re
from collections.abc import Mapping
from pathlib import Path

from local.emulator import PROJECT
from signpost.adapters.written_files import parsed
from signpost.workflow.definition import published
from signpost.workflow.drawing import drawn
from signpost.workflow.picture import mermaid, pictured

MANIFESTS = sorted(PROJECT.glob("examples/*/manifest.yaml"))
_BLOCK = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)


def files(manifest: Path) -> Mapping[Path, str]:
    """What is to be in the files beside a manifest that show its workflow."""
    ((definition_id, document),) = parsed(manifest)["workflows"].items()
    picture = pictured(published(definition_id, document))
    readme = manifest.parent / "README.md"
    block = f"```mermaid\n{mermaid(picture)}```"
    return {
        readme: _BLOCK.sub(lambda _: block, readme.read_text("utf-8"), count=1),
        manifest.parent / "picture.svg": drawn(picture),
    }


if __name__ == "__main__":
    for manifest in MANIFESTS:
        for path, content in files(manifest).items():
            path.write_text(content, "utf-8")
            print(path.relative_to(PROJECT))
