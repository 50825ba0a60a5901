"""The API's own description: OpenAPI 3, the JSON Schema of plan files, and a page to browse. Open to anyone."""

import json
from typing import ClassVar

from django.http import HttpResponse
from django.template.loader import render_to_string
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from rest_framework.renderers import JSONRenderer, StaticHTMLRenderer
from rest_framework.request import Request

from graph.importing import configured_limits
from graph.plan_schema import plan_schema
from tasksite.api.operations import Operation, declares
from tasksite.api.roles import Access
from tasksite.api.schema.document import openapi
from tasksite.api.views.base import ApiView


class YamlRenderer(OpenApiYamlRenderer):
    media_type = "application/yaml"


class OpenView(ApiView):
    """Needs no token, and is not itself described."""

    authentication_classes = ()
    schema: ClassVar[None] = None  # type: ignore[assignment, misc]


class OpenApi(OpenView):
    renderer_classes = (JSONRenderer, OpenApiJsonRenderer, OpenApiYamlRenderer, YamlRenderer)

    @declares(
        Operation(
            name="get_schema",
            tag="docs",
            summary="This description",
            access=Access.ANYONE,
            answers={200: None},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        kind = request.accepted_renderer.media_type
        if kind in (YamlRenderer.media_type, OpenApiYamlRenderer.media_type):
            yaml = OpenApiYamlRenderer().render(openapi())  # type: ignore[no-untyped-call]
            return HttpResponse(yaml, content_type=kind)
        return HttpResponse(json.dumps(openapi()), content_type=kind)


class PlanFileSchema(OpenView):
    @declares(
        Operation(
            name="get_plan_file_schema",
            tag="docs",
            summary="The JSON Schema of plan files",
            access=Access.ANYONE,
            answers={200: None},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(json.dumps(plan_schema(configured_limits())), content_type="application/schema+json")


class Docs(OpenView):
    renderer_classes = (StaticHTMLRenderer,)

    @declares(
        Operation(name="get_docs", tag="docs", summary="The docs page", access=Access.ANYONE, answers={200: None})
    )
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(render_to_string("api/docs.html", request=request._request))
