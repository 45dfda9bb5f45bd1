"""`deploy/kubernetes`: objects that the API server would take, with settings that Touchbase takes. No cluster runs them here."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.test_files import KNOWN

import touchbase
from touchbase.config import Settings

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
OLDEST, NEWEST = "1.29", "1.34"
PODS = ("Job", "Deployment")


def all_objects() -> list[dict[str, Any]]:
    files = [yaml.safe_load_all(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.yaml")]
    return [item for file in files for item in file]


def objects() -> dict[str, dict[str, Any]]:
    """The objects by kind, but for policies of the network."""
    return {item["kind"]: item for item in all_objects() if item["kind"] != "NetworkPolicy"}


def pod(kind: str = "Deployment") -> dict[str, Any]:
    spec: dict[str, Any] = objects()[kind]["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_objects__are_valid_for_the_api_server(version: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed: make checkers")
    for item in all_objects():
        kubernetes_validate.validate(item, version, strict=True)


def test_objects__find_each_other() -> None:
    result = objects()
    labels = result["Deployment"]["spec"]["template"]["metadata"]["labels"]
    [port] = result["Service"]["spec"]["ports"]

    assert result["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert result["Service"]["spec"]["selector"] == labels
    assert result["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert result["PodDisruptionBudget"]["spec"]["minAvailable"] < result["Deployment"]["spec"]["replicas"]
    assert port["targetPort"] in {item["name"] for item in pod()["containers"][0]["ports"]}
    images = set()
    for kind in PODS:
        [container] = pod(kind)["containers"]
        images.add(container["image"])
        assert {volume_mount["name"] for volume_mount in container["volumeMounts"]} == {volume["name"] for volume in pod(kind)["volumes"]}
        assert [item["configMapRef"]["name"] for item in container["envFrom"]] == [result["ConfigMap"]["metadata"]["name"]]
    assert images == {f"registry.example.com/touchbase:{touchbase.__version__}"}


def test_settings__are_those_that_touchbase_takes(tmp_path: Path) -> None:
    item = objects()["ConfigMap"]["data"]
    (tmp_path / "database").write_text("postgresql://touchbase@postgres.example.com/touchbase")
    (tmp_path / "encryption_key").write_text(base64.b64encode(os.urandom(32)).decode())
    secrets = pod()["containers"][0]["volumeMounts"][0]["mountPath"]
    own = {name: value.replace(secrets, str(tmp_path)) for name, value in item.items()}

    settings = Settings.read({"TOUCHBASE_HOST": "0.0.0.0", **own})
    settings.check_serving()

    assert set(item) <= KNOWN
    assert pod()["terminationGracePeriodSeconds"] > settings.shutdown_timeout
    assert pod()["containers"][0]["ports"][0]["containerPort"] == settings.port


def test_pods__have_only_the_privileges_they_need() -> None:
    for kind in PODS:
        [container] = pod(kind)["containers"]
        assert (pod(kind)["automountServiceAccountToken"], pod(kind)["securityContext"]["runAsNonRoot"]) == (False, True)
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert {"cpu", "memory", "ephemeral-storage"} <= set(container["resources"]["limits"])
        assert all("sizeLimit" in volume["emptyDir"] for volume in pod(kind)["volumes"] if "emptyDir" in volume)


def test_network_policies__close_everything_but_what_touchbase_needs() -> None:
    policies = {item["metadata"]["name"]: item["spec"] for item in all_objects() if item["kind"] == "NetworkPolicy"}
    touchbase_policy, postgres = policies["touchbase"], policies["postgres"]
    apps = {objects()[kind]["spec"]["template"]["metadata"]["labels"]["app"] for kind in PODS}

    def ports(rules: list[dict[str, Any]]) -> list[int]:
        return [port["port"] for rule in rules for port in rule["ports"]]

    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies.values())
    assert set(touchbase_policy["podSelector"]["matchExpressions"][0]["values"]) == apps
    assert ports(touchbase_policy["ingress"]) == [pod()["containers"][0]["ports"][0]["containerPort"]]
    assert [list(peer) for rule in touchbase_policy["ingress"] for peer in rule["from"]] == [["namespaceSelector"]]
    assert ports(touchbase_policy["egress"]) == [53, 53, 5432, 443]
    [world] = [rule["to"] for rule in touchbase_policy["egress"] if rule["ports"][0]["port"] == 443]
    assert "169.254.0.0/16" in world[0]["ipBlock"]["except"]
    assert [ports(postgres[way]) for way in ("ingress", "egress")] == [[5432], [5432]]
    assert set(postgres["ingress"][0]["from"][0]["podSelector"]["matchExpressions"][0]["values"]) == {*apps, "postgres"}
