"""Finds visible text that gives orders to a model over its instructions, as far as a list of patterns knows them.

The list is short, so that texts that explain a tool have no hazard. It knows English only, and nothing that is
paraphrased, encoded or spread over several texts. Every gap in a pattern is bounded, so the time is linear."""

import re
from collections.abc import Iterator

from signpost.hazards.confusables import find_twin
from signpost.hazards.model import Hazard

LONGEST_QUOTE = 80
_GAP = r"[\s\"'`*_,:-]{1,4}"
_RULES = r"(?:instruction|prompt|guideline|directive|command|order|rule|constraint|message|training)s?"
_TOOL = r"(?:tool|function|skill)s?"
_KEY_FILES = (
    r"(?:\.ssh[/\\]|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws[/\\]credentials|\.git-credentials|\.netrc\b|\.kube[/\\]config"
    r"|\.cursor[/\\]mcp\.json|/etc/(?:passwd|shadow)\b|/proc/self/environ)"
)


def _words(most: int) -> str:
    """Return the pattern of up to so many words of any kind."""
    return rf"(?:[\w'’-]{{1,30}}{_GAP}){{0,{most}}}"


_ORDERS = re.compile(
    "|".join((
        # to drop its instructions
        (rf"\b(?:ignore|disregard|forget|override|bypass|discard|stop{_GAP}following|do{_GAP}not{_GAP}follow){_GAP}"
        rf"{_words(3)}(?:previous|prior|preceding|above|earlier|foregoing|existing|original|initial|system|safety)"
        rf"{_GAP}{_words(1)}{_RULES}\b"),
        rf"\b(?:ignore|disregard|forget|override|bypass){_GAP}(?:all{_GAP}(?:of{_GAP})?)?your{_GAP}{_words(1)}{_RULES}\b",
        (rf"\b(?:ignore|disregard|forget){_GAP}(?:everything|anything|all|what){_GAP}{_words(2)}"
        rf"(?:above|before|told|said{_GAP}earlier)\b"),
        rf"\byour{_GAP}new{_GAP}(?:instructions|orders|system{_GAP}prompt|role){_GAP}(?:is|are)\b",
        # to give them away
        (rf"\b(?:reveal|print|output|repeat|leak|send|show|replace|rewrite|override){_GAP}{_words(3)}"
        rf"(?:system|developer){_GAP}(?:prompt|message|instructions)\b"),
        # to act behind the back of the user
        (rf"\b(?:do{_GAP}not|don['’]t|never|must{_GAP}not){_GAP}{_words(1)}(?:tell|inform|notify|alert){_GAP}{_words(1)}"
        rf"(?:user|human)s?\b"),
        (rf"\b(?:do{_GAP}not|don['’]t|never|must{_GAP}not){_GAP}{_words(1)}(?:mention|reveal|disclose){_GAP}{_words(3)}"
        rf"to{_GAP}{_words(1)}(?:user|human)s?\b"),
        rf"\b(?:hide|conceal){_GAP}{_words(3)}from{_GAP}{_words(1)}(?:user|human)s?\b",
        rf"\bwithout{_GAP}(?:telling|informing|notifying|asking|alerting){_GAP}{_words(1)}(?:user|human)s?\b",
        rf"\bwithout{_GAP}{_words(1)}user['’]?s?{_GAP}(?:knowledge|consent|noticing|knowing)\b",
        # to read or send files of credentials
        (rf"\b(?:read|open|cat|load|send|upload|attach|copy|include|pass|provide|contents?{_GAP}of)\b[^\n{{}}]{{0,80}}?"
        rf"{_KEY_FILES}"),
        # about the use of other tools
        (rf"\b(?:before|after|instead{_GAP}of|when|whenever){_GAP}(?:using|calling|invoking|running|you{_GAP}(?:use|call)){_GAP}"
        rf"(?:any|every|all|each|another|other){_GAP}{_words(1)}{_TOOL}\b"),
        (rf"\b(?:call|use|run|invoke){_GAP}this{_GAP}{_TOOL}{_GAP}{_words(1)}(?:before|after|instead{_GAP}of){_GAP}"
        rf"(?:any|every|all|each)\b"),
        # tags that look like those of a client
        r"<\s?/?(?:important|critical|system(?:[-_ ]?(?:prompt|message|reminder|note))?)\s?>",
        r"<\|(?:im_start|im_end|system|endoftext)\|>|<<SYS>>|\[/?INST\]",
    )),
    re.IGNORECASE,
)  # fmt: skip
_MEANING = "an order to the model over its instructions"
_ADVICE = "Say what this does and when to use it; clients and their users decide the rest."


def find_orders(text: str) -> Iterator[Hazard]:
    """Yield one hazard for each line on which an order to a model begins."""
    plain = text if text.isascii() else "".join(_plain_letter(letter) for letter in text)
    line, counted_to, last = 1, 0, 0
    for order in _ORDERS.finditer(plain):
        line, counted_to = line + text.count("\n", counted_to, order.start()), order.start()
        if line != last:
            yield Hazard("order_to_model", f"{_MEANING} ({_quote(order[0])}). {_ADVICE}", line)
        last = line


def find_order(text: str) -> str | None:
    """Return the first order to a model in the text, for a message; None if there is none."""
    return next((hazard.message for hazard in find_orders(text)), None)


def _plain_letter(letter: str) -> str:
    """Return the plain letter that it looks like, as one character, so that places stay the same."""
    twin = find_twin(letter)
    return twin if twin is not None and len(twin) == 1 else letter


def _quote(words: str) -> str:
    shown = " ".join(words.split())
    return ascii(shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…")
