"""The demo's addresses."""

from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.urls import path

from demo_project import views
from ratelimit_app.decorators import rate_limit

urlpatterns = [
    path("", views.page, name="page"),
    *[path(f"api/{slug}/", views.answer, name=slug) for slug in views.SLUGS.values()],
    path("api/login/", views.login, name="login"),
    path("api/search/", views.search, name="search"),
    # A cost of 0 always fits: these show what is left and spend nothing.
    *[
        path(f"level/{slug}/", rate_limit(slug, cost=0)(views.level), name=f"level-{slug}")
        for slug in views.SLUGS.values()
    ],
    path("admin/", admin.site.urls),
    # Good enough for a demo under any server; a real site leaves this to its web server.
    path("static/<path:path>", serve, {"insecure": True}),
]
