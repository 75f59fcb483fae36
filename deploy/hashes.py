"""Print each package of a report of pip as a requirement with its version and hash."""

import json
import sys

for entry in json.load(sys.stdin)["install"]:
    if not entry["is_direct"]:  # the project itself is built from its folder
        name, version = entry["metadata"]["name"], entry["metadata"]["version"]
        digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
        sys.stdout.write(f"{name}=={version} --hash=sha256:{digest}\n")
