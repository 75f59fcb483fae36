"""What a request finds: the catalogue of the moment, kept to the request's end."""

from typing import Any

from fastapi import Request

from teaser.app.services import catalogue_of, services_of


def test_a_request_reaches_its_services(client: Any) -> None:
    request = Request({"type": "http", "app": client.app, "headers": []})
    services = services_of(request)
    assert catalogue_of(request) is services.holder.current
    assert services.settings.model.is_dir()
