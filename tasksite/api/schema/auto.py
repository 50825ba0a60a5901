"""From an operation to its part of the schema: drf-spectacular asks, the operation answers."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest, OpenApiResponse

from graph.errors import Refusal
from tasksite.api.operations import Operation, operation_of
from tasksite.api.problems import CONTENT_TYPE, STATUS, title
from tasksite.api.roles import Access
from tasksite.api.schema import examples
from tasksite.api.schema.components import ref

MEANINGS = {200: "Done.", 201: "Made.", 204: "There is none.", 304: "The client has this answer already."}


class Schema(AutoSchema):
    @property
    def operation(self) -> Operation:
        found = operation_of(self.view, self.method)
        assert found is not None, f"{self.method} {self.path} declares no operation"
        return found

    def get_operation_id(self) -> str:
        return self.operation.name

    def get_summary(self) -> str:
        return self.operation.summary

    def get_description(self) -> str:  # type: ignore[override]  # two bases disagree
        who = {Access.ANYONE: "Open to anyone.", Access.WORKER: "For workers and leads.", Access.LEAD: "For leads."}
        return f"{self.operation.description} {who[self.operation.access]}".strip()

    def get_tags(self) -> list[str]:
        return [self.operation.tag]

    def get_auth(self) -> list[Any]:
        return [{"token": []}]

    def get_filter_backends(self) -> list[Any]:
        return []

    def get_override_parameters(self) -> list[Any]:
        parameters = [
            OpenApiParameter(
                name, {k: v for k, v in field.schema.items() if k != "description"}, OpenApiParameter.QUERY,
                required=field.required, description=str(field.schema.get("description", "")),
            )
            for name, field in self.operation.query.fields.items()
        ]  # fmt: skip
        parameters += [
            OpenApiParameter(name, str, OpenApiParameter.PATH, description="a ULID, in upper or lower case")
            for name in ("node_id", "edge_id", "plan_id")
            if f"{{{name}}}" in self.path
        ]
        if self.method == "POST":
            parameters.append(
                OpenApiParameter(
                    "Idempotency-Key", {"type": "string", "minLength": 1, "maxLength": 255}, OpenApiParameter.HEADER,
                    description="The same request under the same key gets its first good answer again, for 24 hours.",
                )
            )  # fmt: skip
        if 304 in self.operation.answers:
            parameters.append(
                OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="the ETag of a last answer")
            )
        return parameters

    def get_request_serializer(self) -> Any:
        operation = self.operation
        if operation.bodies:
            example = OpenApiExample(operation.name, value=examples.PLAN_FILE, request_only=True)
            return {kind: OpenApiRequest(dict(schema), examples=[example]) for kind, schema in operation.bodies.items()}
        if operation.body is None:
            return None
        example = OpenApiExample(operation.name, value=examples.BODIES[operation.name], request_only=True)
        return {"application/json": OpenApiRequest(operation.body.schema(), examples=[example])}

    def get_response_serializers(self) -> Any:
        answers: dict[Any, OpenApiResponse] = {}
        for status, component in self.operation.answers.items():
            answers[status] = _good(status, component)
        by_status: dict[int, list[type[Refusal]]] = {}
        for kind in sorted(self.operation.refusals(), key=lambda each: (STATUS[each], each.code)):
            by_status.setdefault(STATUS[kind], []).append(kind)
        for status, kinds in by_status.items():
            answers[status, CONTENT_TYPE] = _refused(kinds)
        return answers


def _good(status: int, component: str | None) -> OpenApiResponse:
    if component is None:
        return OpenApiResponse(description=MEANINGS[status])
    example = OpenApiExample(component, value=examples.ANSWERS[component], response_only=True)
    return OpenApiResponse(ref(component), description=MEANINGS[status], examples=[example])


def _refused(kinds: Iterable[type[Refusal]]) -> OpenApiResponse:
    codes = {kind.code: kind for kind in kinds}
    schema = {**ref("Problem"), "properties": {"code": {"enum": [*codes]}}}
    return OpenApiResponse(
        schema,
        description=" ".join(f"`{code}`: {title(kind)}" for code, kind in codes.items()),
        examples=[
            OpenApiExample(code, value=examples.refusal(kind), summary=title(kind), response_only=True)
            for code, kind in codes.items()
        ],
    )
