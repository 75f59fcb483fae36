"""The site's pages are served, and are not part of the API's document."""

from app.conftest import TestClient


def test_pages_of_every_module_are_served(client: TestClient) -> None:
    for path in ("/", "/item/i1", "/share", "/tour", "/search?q=event"):
        assert client.get(path).status_code == 200, path
    assert client.post("/act").status_code == 403


def test_the_document_of_the_api_has_no_pages(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths
    assert all(path.startswith("/api/") for path in paths)
