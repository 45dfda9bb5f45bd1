"""`make sbom`: the list of what a running Touchbase is made of, as CycloneDX 1.6 in JSON.

Names, versions and hashes are the lock's; licences and who needs whom are what the installed packages say of themselves. No
address of any package index is in it.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import touchbase
from supply.lock import ROOT, RUNS, Package, locked

CLIENT = "touchbase-client"
"""The Python client, which the command line uses: a part of Touchbase, with a distribution of its own."""
USUAL_PLACE = ROOT / "build" / "touchbase.cdx.json"


def main() -> int:
    """Write the list where the first argument says."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else USUAL_PLACE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(JsonV1Dot6(bill()).output_as_string(indent=2) + "\n", encoding="utf-8")
    print(f"sbom: {place}")
    return 0


def bill() -> Bom:
    """The bill of materials."""
    full_component = Component(name="touchbase", version=touchbase.__version__, type=ComponentType.APPLICATION, bom_ref="touchbase")
    client = Component(name=CLIENT, version=touchbase.__version__, type=ComponentType.LIBRARY, bom_ref=CLIENT)
    for own in (full_component, client):
        own.licenses.add(LicenseFactory().make_from_string("Apache-2.0"))
    full_component.components.add(client)
    bom = Bom()
    bom.metadata.component = full_component
    parts = {package.name: component(package) for package in locked(RUNS)}
    for part in parts.values():
        bom.components.add(part)
    bom.register_dependency(full_component, [client, *(parts[name] for name in needed_by("touchbase", parts))])
    bom.register_dependency(client, [parts[name] for name in needed_by(CLIENT, parts)])
    for name, part in parts.items():
        bom.register_dependency(part, [parts[second] for second in needed_by(name, parts)])
    return bom


def component(package: Package) -> Component:
    """One package; its hashes are those of every file of the release, of which an installation uses one."""
    part = Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{package.name}=={package.version}",
        purl=PackageURL("pypi", name=package.name, version=package.version),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=content) for content in package.sha256],
    )
    if package.marker:
        part.properties.add(Property(name="touchbase:wanted-if", value=package.marker))
    if (licence := licence_of(package)) is not None:
        part.licenses.add(licence)
    return part


def licence_of(package: Package) -> License | None:
    """What the installed package says of its licence; None where it says nothing short, or is not installed here."""
    try:
        reported = metadata.metadata(package.name)
    except metadata.PackageNotFoundError:
        return None
    classified = [item.rpartition(" :: ")[2] for item in reported.get_all("Classifier", []) if item.startswith("License :: OSI")]
    text = reported.get("License-Expression") or reported.get("License") or " AND ".join(classified)
    return LicenseFactory().make_from_string(text) if text and "\n" not in text and len(text) < 100 else None


def needed_by(name: str, among: dict[str, Component]) -> list[str]:
    """The packages that this one requires, with those of the extras that the project or its client requires."""
    required = [item for owner in ("touchbase", CLIENT) for item in _required(owner)]
    extras = {extra for item in required if canonicalize_name(item.name) == canonicalize_name(name) for extra in item.extras}
    wanted = (item for item in _required(name) if not re.search(r"\bextra\b", str(item.marker)) or _has_extra(item, extras))
    return sorted({canonicalize_name(item.name) for item in wanted} & among.keys())


def _required(name: str) -> list[Requirement]:
    try:
        return [Requirement(item) for item in metadata.requires(name) or []]
    except metadata.PackageNotFoundError:
        return []


def _has_extra(requirement: Requirement, extras: set[str]) -> bool:
    return any(requirement.marker is not None and requirement.marker.evaluate({"extra": extra}) for extra in extras)


if __name__ == "__main__":
    sys.exit(main())
