"""The routes of the site."""

from fastapi import APIRouter

from teaser.app.pages import about, home, item, mydata, say, search

router = APIRouter(include_in_schema=False)
for pages in (home, item, search, say, mydata, about):
    router.include_router(pages.router)
