"""Where each door stands."""

from django.contrib import admin
from django.urls import include, path, re_path

from tasksite.api.urls import unknown

urlpatterns = [
    path("api/v1/", include("tasksite.api.urls")),
    re_path(r"^api/", unknown),
    path("", include("tasksite.health")),
    path("", include("tasksite.dashboard.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "tasksite.api.problems.bad_request"
handler403 = "tasksite.api.problems.permission_denied"
handler404 = "tasksite.api.problems.page_not_found"
handler500 = "tasksite.api.problems.server_error"
