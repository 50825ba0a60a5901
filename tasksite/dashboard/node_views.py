"""The views of a node's page."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from graph.errors import NotFound
from graph.models import Node
from tasksite.dashboard import live, node
from tasksite.dashboard.access import signed_in


@require_safe
@signed_in
def show_node(request: HttpRequest, node_id: str) -> HttpResponse:
    try:
        return live.answer(request, node.PAGE, node_id=node_id)
    except NotFound as missing:
        raise Http404 from missing


@require_safe
@signed_in
def show_body(request: HttpRequest, node_id: str) -> HttpResponse:
    """The whole body as it was written: a page shows the first of a long one."""
    found = Node.objects.filter(id=node_id).values_list("body", flat=True).first()
    if found is None:
        raise Http404
    return HttpResponse(found, content_type="text/plain; charset=utf-8", headers={"Cache-Control": "private, no-store"})
