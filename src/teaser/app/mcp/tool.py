"""A tool: its arguments, its result, and the call with its errors as sentences."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import mcp_types as types
from pydantic import BaseModel, Field, ValidationError, create_model

from teaser.app.api.schema import validation_messages
from teaser.app.error_handlers import sentence_of
from teaser.app.mcp.arguments import Whose
from teaser.app.mcp.source import Source
from teaser.app.telemetry.request_record import current_request
from teaser.errors import TeaserError

log = logging.getLogger("teaser")
_FAILED = "Something went wrong on our side."
_SENTENCES = "The result in plain English."


@dataclass(frozen=True)
class Answer:
    """What a tool returns: typed numbers, and the sentences that tell them."""

    result: BaseModel
    sentences: Sequence[str]


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes
    ----------
    name, title, description
        What a client shows, and what an assistant reads to choose a tool.
    arguments, result
        The schemas of what it takes and of what it returns.
    answer
        Computes the answer, in a thread.
    changes
        Whether it stores something for a person.
    needs_people
        Whether it is of use only where persons are stored.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    answer: Callable[[Source, Any], Answer]
    changes: bool = False
    needs_people: bool = False

    @cached_property
    def described(self) -> types.Tool:
        """The tool as the protocol describes it."""
        answered: Any = create_model(
            self.result.__name__,
            __base__=self.result,
            sentences=(list[str], Field(description=_SENTENCES)),
        )
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=without_examples(self.arguments.model_json_schema()),
            output_schema=without_examples(answered.model_json_schema(mode="serialization")),
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=not self.changes,
                destructive_hint=False,
                idempotent_hint=not self.changes,
                open_world_hint=False,
            ),
        )

    async def call(self, source: Source, given: Mapping[str, Any]) -> types.CallToolResult:
        """Return the answer; every error is a result with a sentence."""
        try:
            asked = self.arguments.model_validate(dict(given))
            if isinstance(asked, Whose):
                asked.check()
            uses_store = self.needs_people or getattr(asked, "person_id", None) is not None
            answer = await source.run(partial(self.answer, source, asked), uses_store=uses_store)
        except ValidationError as error:
            return _refused(validation_messages.describe(error.errors(include_url=False)))
        except TeaserError as error:
            return _refused(sentence_of(error))
        except Exception:
            log.exception("a tool failed")
            record = current_request()
            named = f" Its id is {record.request_id}." if record is not None else ""
            return _refused(_FAILED + named)
        sentences = list(answer.sentences)
        return types.CallToolResult(
            content=[types.TextContent(text="\n".join(sentences))],
            structured_content={"sentences": sentences, **answer.result.model_dump(mode="json")},
        )


def without_examples(schema: Any) -> Any:
    """Return a JSON schema without examples and generated titles.

    An assistant could take the ids and tags of an example for those of the catalogue.
    """
    if isinstance(schema, dict):
        # A field may have one of these names; its value is a schema, not a text or a list.
        left_out = {k for k, v in schema.items() if k == "title" and isinstance(v, str)}
        left_out |= {k for k, v in schema.items() if k == "examples" and isinstance(v, list)}
        return {k: without_examples(v) for k, v in schema.items() if k not in left_out}
    return [without_examples(value) for value in schema] if isinstance(schema, list) else schema


def _refused(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)
