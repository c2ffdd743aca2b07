"""Asks a registry for schemas, and says which answers are final and which may change."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from consumers.kafka.errors import RefusedError
from consumers.registry.http_client import Answer, RegistryAwayError, RegistryConnection, shortened
from consumers.registry_settings import RegistrySettings
from pipeline.events.avro_schema import SchemaError, compile_schema
from pipeline.events.event import Refusal
from pipeline.events.schema_ids import RegisteredSchema

MAX_SCHEMA_BYTES = 1 << 20  # of a schema with all that it refers to
MAX_REFERENCES = 100
NOT_FOUND = {40401, 40402, 40403}  # no such subject, version, schema
OK, UNAUTHORIZED, FORBIDDEN, MISSING, TOO_MANY = 200, 401, 403, 404, 429
APICURIO = "of Apicurio it ends with /apis/ccompat/v7"


class FoundSchema(NamedTuple):
    """What the registry says about an id: a schema, or why there is none that can be used."""

    schema: RegisteredSchema | None
    refusal: Refusal | None
    size: int  # of the text of the schema
    is_final: bool  # a schema never changes, but one that is missing may come


class RegistryClient:
    """Asks one registry."""

    def __init__(self, settings: RegistrySettings) -> None:
        self.url = settings.url
        self._user = settings.user
        self._connection = RegistryConnection(settings)

    def check(self) -> None:
        """Raise `RefusedError` if the address or the password is certainly wrong.

        A registry that is away is no error here.
        """
        try:
            answer = self._connection.get("/schemas/types")
        except RegistryAwayError:
            return
        if answer.status == UNAUTHORIZED:
            raise RefusedError(f"the Schema Registry at {self.url}: {self._unusable(answer)}.")
        if answer.status == MISSING and error_code(answer.body) is None:
            raise RefusedError(f"there is no Schema Registry at {self.url}: {self._elsewhere()}.")

    def schema(self, id_: int) -> FoundSchema:
        """What the registry says about an id; raises `RegistryAwayError` if it says nothing."""
        found = self._ask(f"/schemas/ids/{id_}")
        if found is None:
            detail = f"the Schema Registry at {self.url} has no schema {id_}"
            return FoundSchema(None, Refusal("unknown_schema", detail), 0, is_final=False)
        type_, text = found.get("schemaType") or "AVRO", found.get("schema")
        if not isinstance(text, str) or not isinstance(type_, str):
            raise RegistryAwayError(f"its answer about schema {id_} has no text of a schema")
        if type_ != "AVRO":
            return FoundSchema(RegisteredSchema(type_), None, 0, is_final=True)
        try:
            texts = References(self).collect(text, found.get("references"))
            reader = compile_schema(text, texts)
        except SchemaError as error:
            refusal = Refusal("bad_schema", f"schema {id_} cannot be used: {error}")
            return FoundSchema(None, refusal, 0, is_final=False)
        size = sum(map(len, (text, *texts)))
        return FoundSchema(RegisteredSchema(type_, reader), None, size, is_final=True)

    def referenced(self, subject: str, version: int) -> dict[str, Any]:
        """A version of a subject, which a schema refers to."""
        found = self._ask(f"/subjects/{quote(subject, safe='')}/versions/{version}")
        if found is None:
            raise SchemaError(
                f"it refers to version {version} of {shortened(subject)!r}, which does not exist"
            )
        return found

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    def abort(self) -> None:
        """Disconnect from another thread than the one that asks."""
        self._connection.abort()

    def _ask(self, path: str) -> dict[str, Any] | None:
        """The object that the registry answers with; None if it says that there is none."""
        answer = self._connection.get(path)
        if answer.status == OK:
            found = parsed(answer.body)
            if found is None:
                raise RegistryAwayError(f"its answer is no JSON object; {self._elsewhere()}")
            return found
        if answer.status == MISSING and error_code(answer.body) in NOT_FOUND:
            return None
        raise RegistryAwayError(self._unusable(answer))

    def _unusable(self, answer: Answer) -> str:
        """Why an answer cannot be used, and what to do."""
        status = f"it answers with the status {answer.status}"
        if answer.status in (UNAUTHORIZED, FORBIDDEN):
            who = "a client without a user" if self._user is None else f"the user {self._user!r}"
            return (
                f"it refuses {who} (status {answer.status}): correct registry.user and "
                "registry.password (WIRERANK__REGISTRY__PASSWORD in the environment), or grant the "
                "right to read schemas"
            )
        if answer.location:
            return f"{status}, to {shortened(answer.location)}; write that address as registry.url"
        if answer.status == MISSING:
            return f"{status}, but is no Schema Registry; {self._elsewhere()}"
        if answer.status == TOO_MANY or answer.status >= 500:
            return status
        return f"{status}; check registry.url"

    def _elsewhere(self) -> str:
        return f"write the address below which /schemas/ids/1 is as registry.url ({APICURIO})"


class References:
    """Collects the schemas that a schema refers to, each before those that refer to it."""

    def __init__(self, client: RegistryClient) -> None:
        self._client = client
        self._seen: set[tuple[str, int]] = set()
        self._texts: list[str] = []
        self._size = 0

    def collect(self, text: str, references: object) -> list[str]:
        """The texts of all schemas that one refers to, directly or not."""
        self._add_size(text)
        self._visit(references)
        return self._texts

    def _visit(self, references: object) -> None:
        if references is None:
            return
        if not isinstance(references, list):
            raise SchemaError("its references are not a list")
        for reference in references:
            subject = reference.get("subject") if isinstance(reference, dict) else None
            version = reference.get("version") if isinstance(reference, dict) else None
            if not isinstance(subject, str) or type(version) is not int:
                raise SchemaError("a reference has no subject and version")
            if (subject, version) in self._seen:
                continue
            self._seen.add((subject, version))
            if len(self._seen) > MAX_REFERENCES:
                raise SchemaError(f"it refers to more than {MAX_REFERENCES} schemas")
            found = self._client.referenced(subject, version)
            text = found.get("schema")
            if not isinstance(text, str):
                raise SchemaError(f"{shortened(subject)!r}, to which it refers, has no text")
            self._add_size(text)
            self._visit(found.get("references"))
            self._texts.append(text)

    def _add_size(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_SCHEMA_BYTES:
            raise SchemaError(f"it has more than {MAX_SCHEMA_BYTES:,} bytes")


def parsed(body: bytes) -> dict[str, Any] | None:
    """The JSON object of an answer; None if it is none."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def error_code(body: bytes) -> int | None:
    """The number by which a registry says what is wrong; others have none."""
    code = (parsed(body) or {}).get("error_code")
    return code if type(code) is int else None
