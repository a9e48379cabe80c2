"""Manifests of workflows on their way to the registry: what is read out of files, what is refused before anybody is
asked, and what is sent in which order."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from signpost.cli import main
from signpost.cli.failure import CommandFailed
from signpost.cli.publish import files as publication_files
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.collection import CollectedPublication
from signpost.cli.publish.definitions import LARGEST_DEFINITION
from signpost.cli.publish.upload import LARGEST_BATCH, MOST_AT_ONCE, RemotePublisher
from signpost.model import Json, JsonObject
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.source_tree import build_source_node
from signpost.workflow.running.serialization import text_of

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def workflow_document(title: str = "T", **fields: Json) -> JsonObject:
    return {"title": title, "initialState": "a", "states": {"a": {"terminal": True}}, **fields}


def manifest(**parts: Any) -> str:
    return json.dumps({"version": 1, **parts}, indent=1)


def folder(root: Path, **files: str) -> Path:
    """A double underscore stands for the dot of a suffix."""
    for name, content in files.items():
        path = root / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def collect_publication(path: Path, *, strict: bool = False, executors: Sequence[str] = ()) -> CollectedPublication:
    return publication_files.read_publication(path, CheckRules(strict=strict, executors=executors))


def refusal(path: Path, *, strict: bool = False) -> str:
    with pytest.raises(CommandFailed) as refused:
        collect_publication(path, strict=strict)
    return str(refused.value)


def definition_names(publication: CollectedPublication) -> Mapping[str, Sequence[str]]:
    return {part: list(members) for part, members in publication.definitions.items()}


PING: JsonObject = {"name": "ping", "executor": {"kind": "noop"}}
DEAD_END = workflow_document(states={"a": {"transitions": {"go": {"target": "b"}}}, "b": {}, "c": {"terminal": True}})


class TestReading:
    @pytest.mark.parametrize("example", ["deploy-pipeline", "expense-approval", "content-publishing"])
    def test_an_example_is_collected_without_a_warning(self, example: str) -> None:
        found = collect_publication(EXAMPLES / example, strict=True)
        assert definition_names(found) == {"workflows": [example.replace("-", "_")]}
        assert found.bodies is None

    def test_only_kinds_that_a_manifest_names_are_collected(self, tmp_path: Path) -> None:
        folder(
            tmp_path,
            m__json=manifest(workflows={"w": workflow_document()}),
            n__json=manifest(proxy={"expose": []}, connections={}),
        )
        assert definition_names(collect_publication(tmp_path / "m.json")) == {"workflows": ["w"]}
        assert definition_names(collect_publication(tmp_path / "n.json")) == {"capabilities": [], "connections": []}

    def test_exposed_capabilities_are_collected_and_named_ones_are_inlined(self, tmp_path: Path) -> None:
        go: Json = {"target": "b", "executor": {"capability": "unlisted"}}
        states: Json = {"a": {"transitions": {"go": go}}, "b": {"terminal": True}}
        text = manifest(
            capabilities={
                "unlisted": {"executor": {"kind": "noop"}},
                "shown": {"title": "S", "executor": {"kind": "noop"}},
            },
            proxy={"expose": [PING, {"capability": "shown", "as": "there"}]},
            workflows={"w": workflow_document(states=states)},
            discovery={"include": ["proxy"], "ranking": "fused"},
            audit={"level": "all"},
        )
        found = collect_publication(folder(tmp_path, m__json=text))
        assert definition_names(found) == {
            "workflows": ["w"], "capabilities": ["ping", "there"],
            "discovery": ["include", "ranking"], "audit": ["level"],
        }  # fmt: skip
        document: Any = found.definitions["workflows"]["w"]
        assert document["states"]["a"]["transitions"]["go"]["executor"] == {"kind": "noop"}

    def test_documents_and_workflows_come_from_one_manifest_and_its_includes(self, tmp_path: Path) -> None:
        part = "workflows: {w: {initialState: a, states: {a: {terminal: true}}}}\nskills: {deep: deep.md}\n"
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts/one.yaml").write_text(part)
        (tmp_path / "parts/deep.md").write_text("# Deep")
        root = "version: 1\ninclude: [parts/one.yaml]\nskills:\n  flat: |\n    # Flat\nprompts: []\n"
        found = collect_publication(folder(tmp_path, m__yaml=root) / "m.yaml")
        assert (found.bodies, found.prompts) == ({"deep": "# Deep", "flat": "# Flat\n"}, [])
        assert definition_names(found) == {"workflows": ["w"]}

    def test_manifests_of_a_folder_are_collected_with_its_documents(self, tmp_path: Path) -> None:
        (tmp_path / "skills").mkdir()
        (tmp_path / "skills/a.md").write_text("# A")
        folder(
            tmp_path,
            one__json=manifest(workflows={"w": workflow_document()}, skills={"b": "# B"}, proxy={"expose": [PING]}),
            two__json=manifest(workflows={"self": workflow_document(), "w": workflow_document()}),
            prompts__yaml="[]",
            template__yaml="Resources:\n  Role: !Ref Else\n",
            other__yaml="services: {}\n",
        )
        found = collect_publication(tmp_path)
        assert (found.bodies, found.prompts) == ({"a": "# A", "b": "# B"}, [])
        assert definition_names(found) == {"workflows": ["w", "self"], "capabilities": ["ping"]}

    def test_content_shared_by_two_manifests_is_collected_once(self, tmp_path: Path) -> None:
        prompt = '{"name": "greet", "description": "Greets.", "function_id": "demo::greet"}'
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts/shared.yaml").write_text(f"skills: {{a: '# A'}}\nprompts: [{prompt}]\naudit: {{x: 1}}\n")
        folder(
            tmp_path,
            one__yaml="version: 1\ninclude: [parts/shared.yaml]\n",
            two__yaml="version: 1\ninclude: [parts/shared.yaml]\n",
        )
        found = collect_publication(tmp_path)
        assert (found.bodies, len(found.prompts or [])) == ({"a": "# A"}, 1)
        assert definition_names(found) == {"audit": ["x"]}


class TestRefusals:
    def test_all_problems_are_reported_at_once_with_their_places(self, tmp_path: Path) -> None:
        (tmp_path / "skills").mkdir()
        (tmp_path / "skills/Bad.md").write_text("# B")
        folder(
            tmp_path,
            one__yaml="version: 1\nworkflows:\n  w:\n    initialState: nowhere\n    states: {a: {terminal: true}}\n",
            two__yaml="version: 1\nproxy:\n  expose:\n    - {title: T}\nskills:\n  s: 1\n",
            three__yaml="version: 1\nworkflows: {\n",
            prompts__yaml="{}",
        )
        said = refusal(tmp_path)
        assert "Nothing was published. Problems to fix: 6\n" in said
        for expected in (
            "one.yaml:4:19: error: w: `initialState`", "two.yaml:4:7: error: an exposure needs a name",
            "two.yaml:6:6: error: 's' must be a text", "three.yaml:3:1: error: ", "prompts.yaml: this must be a list",
            "Bad.md (Bad): id 'Bad'",
        ):  # fmt: skip
            assert expected in said, (expected, said)

    def test_a_warning_refuses_a_publication_only_in_strict_mode(self, tmp_path: Path) -> None:
        path = folder(tmp_path, m__json=manifest(workflows={"w": DEAD_END})) / "m.json"
        found = collect_publication(path)
        assert definition_names(found) == {"workflows": ["w"]}
        assert any("warning: 'b' is a dead end" in warning for warning in found.warnings)
        assert f"Problems to fix: {len(found.warnings)}\n" in refusal(path, strict=True)

    def test_additional_executor_kinds_can_be_named(self, tmp_path: Path) -> None:
        exposure = {"name": "ping", "executor": {"kind": "stub"}}
        path = folder(tmp_path, m__json=manifest(proxy={"expose": [exposure]})) / "m.json"
        assert len(collect_publication(path).warnings) == 1
        assert collect_publication(path, strict=True, executors=["stub"]).warnings == ()

    @pytest.mark.parametrize(
        ("one", "other", "says"),
        [
            (
                {"workflows": {"w": workflow_document("A")}},
                {"workflows": {"w": workflow_document("B")}},
                "the workflow 'w' is defined differently in",
            ),
            ({"proxy": {"expose": [PING]}}, {"proxy": {"expose": [{**PING, "title": "P"}]}}, "the capability 'ping'"),
            ({"connections": {"c": {"kind": "cli"}}}, {"connections": {"c": {"kind": "mcp"}}}, "the connection 'c'"),
            ({"discovery": {"ranking": "rule"}}, {"discovery": {"ranking": "fused"}}, "`discovery` 'ranking'"),
            ({"audit": {"x": 1}}, {"audit": {"x": 2}}, "the setting of `audit` 'x'"),
            (
                {"audit": {}, "skills": {"a": "# A"}},
                {"audit": {}, "skills": {"a": "# B"}},
                "also defines the document 'a'",
            ),
        ],
    )
    def test_two_manifests_with_conflicting_entries_are_refused(
        self, tmp_path: Path, one: JsonObject, other: JsonObject, says: str
    ) -> None:
        """Which of the two would be there is not for the order of the files to say."""
        said = refusal(folder(tmp_path, one__json=manifest(**one), two__json=manifest(**other)))
        assert "Problems to fix: 1\n" in said
        assert says in said
        assert "one.json:" in said
        assert "two.json:" in said

    def test_a_definition_too_large_for_an_invocation_is_refused(self, tmp_path: Path) -> None:
        text = manifest(
            workflows={"large": workflow_document(description="x" * LARGEST_DEFINITION), "w": workflow_document()}
        )
        said = refusal(folder(tmp_path, m__json=text))
        assert "error: the workflow 'large' is too large: " in said
        assert "m.json:4:3" in said

    def test_a_problem_in_an_included_file_has_its_place_there(self, tmp_path: Path) -> None:
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts/w.yaml").write_text("workflows:\n  w:\n    states: {a: {}}\n")
        said = refusal(folder(tmp_path, m__yaml="version: 1\ninclude: [parts/w.yaml, parts/none.yaml]\n"))
        assert "parts/w.yaml:2:3: error: w: has no `initialState`" in said
        assert "m.yaml:2:25: error: There is no file" in said

    def test_an_invalid_policy_rule_is_refused_at_its_place(self, tmp_path: Path) -> None:
        rules = "version: 1\npolicies:\n  default: deny\n  staff: {kind: alow, who: ['*'], what: ['*']}\n"
        said = refusal(folder(tmp_path, m__yaml=rules))
        assert "m.yaml:4:3: error: the policy 'staff': `kind` must be one of allow, deny, show, mcp_restriction" in said

    def test_an_include_that_leads_out_of_the_folder_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "secret.yaml").write_text("version: 1\nworkflows: {}\n")
        folder(tmp_path / "here", m__yaml="version: 1\ninclude: [../secret.yaml]\n")
        assert "is outside the folder of the manifest" in refusal(tmp_path / "here/m.yaml")

    def test_a_document_outside_the_folder_of_the_manifest_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "here/parts").mkdir(parents=True)
        (tmp_path / "a.md").write_text("# A")
        (tmp_path / "here/parts/p.yaml").write_text("skills: {a: ../../a.md}\n")
        folder(tmp_path / "here", m__yaml="version: 1\ninclude: [parts/p.yaml]\n")
        assert "a.md is outside the folder of the manifest" in refusal(tmp_path / "here/m.yaml")

    def test_the_command_reports_problems_without_a_call(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder(tmp_path, m__json=manifest(workflows={"w": workflow_document(initialState="nowhere")}))
        assert main(["publish", str(tmp_path), "--url", "http://127.0.0.1:1"]) == 1
        printed = capsys.readouterr()
        assert "m.json:6:20: error: " in printed.err
        assert printed.out == ""


class RecordingRegistry:
    """Answers as the protocol says, and keeps what it was asked."""

    def __init__(self, there: Mapping[str, Mapping[str, str]] | None = None, dies_at: str = "") -> None:
        self.there = there or {}
        self.dies_at = dies_at
        self.asked: list[tuple[str, Any]] = []

    def __call__(self, function: str, payload: JsonObject) -> JsonObject:
        if function == self.dies_at:
            raise CommandFailed("Killed.")
        self.asked.append((function, json.loads(json.dumps(payload))))
        if function == "manifest::bodies":
            return {"part": f"part {len(self.asked)}"}
        return {part: self.difference(part, payload) for part in ("workflows", "capabilities")}

    def difference(self, part: str, payload: Any) -> JsonObject:
        before = self.there.get(part, {})
        after = {row["id"]: row["digest"] for row in payload.get(part, [])}
        return {
            "added": [name for name in after if name not in before],
            "changed": [name for name in after if name in before and before[name] != after[name]],
            "same": [name for name in after if before.get(name) == after[name]],
            "removed": [name for name in before if name not in after] if payload["prune"] else [],
        }

    def of(self, function: str) -> list[Any]:
        return [payload for name, payload in self.asked if name == function]

    @property
    def slices(self) -> list[Any]:
        return [payload["definitions"] for payload in self.of("manifest::bodies")]


def digest(document: Json) -> str:
    assert isinstance(document, Mapping)
    return hashlib.sha256(text_of(document).encode()).hexdigest()


class TestSending:
    def send(
        self, registry: RecordingRegistry, path: Path, *, prune: bool = False, said: list[str] | None = None
    ) -> list[str]:
        publisher = RemotePublisher(registry, show_line=(said if said is not None else []).append)
        publication = collect_publication(path)
        planned = publisher.plan(publication, prune=prune)
        publisher.publish(publication, planned, prune=prune)
        return [f"{change.sign} {change.name}" for change in planned]

    def test_definitions_are_sent_before_a_publication_that_names_their_digests(self, tmp_path: Path) -> None:
        parts = {
            "workflows": {"w": workflow_document()},
            "proxy": {"expose": [PING]},
            "connections": {"c": {"kind": "cli", "command": "true"}},
            "discovery": {"ranking": "fused"},
        }
        registry = RecordingRegistry()
        path = folder(tmp_path, m__json=manifest(**parts))
        assert self.send(registry, path, prune=True) == ["+ capability:ping", "+ workflow:w"]
        whole = compile_manifest(build_source_node(json.loads(manifest(**parts))))
        assert isinstance(whole, CompiledManifest)
        proxy: Any = whole.workflows["proxy_default"]
        (sent,) = registry.slices
        assert sent == {"version": 1, "workflows": dict(whole.workflows)}
        (publication,) = registry.of("manifest::publish")
        assert publication == {
            "workflows": [{"id": "w", "digest": digest(workflow_document())}],
            "capabilities": [{"id": "ping", "digest": digest(proxy["states"]["ready"]["transitions"]["ping"])}],
            "connections": parts["connections"],
            "discovery": parts["discovery"],
            "parts": ["part 2"],
            "prune": True,
        }

    def test_a_slice_resolves_to_the_digests_that_are_published(self) -> None:
        """Or the registry could not find what it is to publish."""
        for example in EXAMPLES.glob("*/manifest.yaml"):
            registry = RecordingRegistry()
            self.send(registry, example)
            (publication,) = registry.of("manifest::publish")
            for sent in registry.slices:
                there = compile_manifest(build_source_node(sent))
                assert isinstance(there, CompiledManifest)
                assert {row["id"]: row["digest"] for row in publication["workflows"]} == {
                    name: digest(document) for name, document in there.workflows.items()
                }

    def test_only_new_and_changed_definitions_are_sent(self, tmp_path: Path) -> None:
        path = folder(tmp_path, m__json=manifest(workflows={"a": workflow_document("A"), "b": workflow_document("B")}))
        there = {
            "workflows": {"a": digest(workflow_document("A")), "b": digest(workflow_document("other")), "c": "0" * 64}
        }
        registry = RecordingRegistry(there)
        assert self.send(registry, path, prune=True) == ["= workflow:a", "~ workflow:b", "- workflow:c"]
        assert [list(one["workflows"]) for one in registry.slices] == [["b"]]
        registry = RecordingRegistry(
            {"workflows": {"a": digest(workflow_document("A")), "b": digest(workflow_document("B"))}}
        )
        assert self.send(registry, path) == ["= workflow:a", "= workflow:b"]
        assert registry.slices == []

    def test_many_definitions_are_sent_in_slices_with_progress(self, tmp_path: Path) -> None:
        many = {f"w{number:03}": workflow_document(str(number)) for number in range(2 * MOST_AT_ONCE)}
        exposed = [{**PING, "name": f"c{number:03}"} for number in range(50)]
        said: list[str] = []
        registry = RecordingRegistry()
        self.send(registry, folder(tmp_path, m__json=manifest(workflows=many, proxy={"expose": exposed})), said=said)
        assert said == [f"sent {sent} of 250 definitions" for sent in (100, 200, 250)]
        sent: dict[str, Any] = {}
        for one in registry.slices:
            sent |= {name: document for name, document in one["workflows"].items() if name != "proxy_default"}
        assert sent == many
        assert sum("proxy_default" in one["workflows"] for one in registry.slices) == 1

    def test_slices_are_bounded_by_their_bytes_as_json(self, tmp_path: Path) -> None:
        many = {f"w{number}": workflow_document(description="\x01" * 250_000) for number in range(6)}
        registry = RecordingRegistry()
        self.send(registry, folder(tmp_path, m__json=manifest(workflows=many)))
        sizes = [len(json.dumps(one)) for one in registry.slices]
        assert len(sizes) == 3
        assert max(sizes) < LARGEST_BATCH + 1_000

    def test_a_crash_before_the_publication_publishes_nothing(self, tmp_path: Path) -> None:
        path = folder(
            tmp_path, m__json=manifest(workflows={f"w{number}": workflow_document() for number in range(101)})
        )
        for dies_at in ("manifest::bodies", "manifest::publish"):
            registry = RecordingRegistry(dies_at=dies_at)
            with pytest.raises(CommandFailed, match="Killed"):
                self.send(registry, path)
            assert registry.of("manifest::publish") == []
