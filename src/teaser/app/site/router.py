"""The router of the site: every page and form."""

from fastapi import APIRouter

from teaser.app.site import actions, home, item, my_data, preferences, search

router = APIRouter(include_in_schema=False)
for _pages in (home, actions, item, my_data, preferences, search):
    router.include_router(_pages.router)
