"""A graph in the libraries that analyse and learn on networks."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import rustworkx

import omnigraph as og
from omnigraph.errors import BadRequest
from omnigraph.integrations.geometric import read_arrays, to_hetero_data
from omnigraph.integrations.networks import to_igraph, to_networkx, to_rustworkx


def test_networkx_gets_parallel_edges_and_properties(roads: og.Graph) -> None:
    found = to_networkx(roads)
    assert (found.number_of_nodes(), found.number_of_edges()) == (5, 4)
    assert found.nodes["City", "A"]["name"] == "Aarau"
    assert sorted(row["miles"] for row in found["City", "A"]["City", "B"].values()) == [7, 9]
    short = networkx.shortest_path_length(found, ("City", "A"), ("City", "C"), weight="miles")
    assert short == 27


def test_only_the_wanted_edges_and_their_nodes_are_read(roads: og.Graph) -> None:
    assert set(to_networkx(roads, ["Serves"])) == {("City", code) for code in "ABC"} | {
        ("Line", "red"),
        ("Line", "blue"),
    }
    assert {kind for kind, _ in to_networkx(roads, ["Road"])} == {"City"}
    with pytest.raises(BadRequest, match="'City' is a node type"):
        to_networkx(roads, ["City"])


def test_igraph_gets_vertices_and_edges_with_their_properties(roads: og.Graph) -> None:
    found = to_igraph(roads, ["Road"])
    assert (found.vcount(), found.ecount(), found.is_directed()) == (3, 3, True)
    start, goal = found.vs.find(id="A"), found.vs.find(id="C")
    assert found.distances(start, goal, weights="miles")[0][0] == 27
    assert set(found.vs["type"]) == {"City"}


def test_rustworkx_gets_dicts(roads: og.Graph) -> None:
    found = to_rustworkx(roads, ["Road"])
    places = {node["id"]: place for place, node in zip(found.node_indices(), found.nodes(), strict=True)}
    lengths = rustworkx.dijkstra_shortest_path_lengths(found, places["A"], lambda edge: edge["miles"], places["C"])
    assert lengths[places["C"]] == 27
    assert found.num_edges() == 3


def test_features_and_edges_become_arrays(roads: og.Graph) -> None:
    found = read_arrays(roads, {"City": ["lat", "lon", "hub", "place"]}, ["Road"])
    rows = dict(zip(found.ids["City"], found.features["City"], strict=True))
    assert rows["A"].tolist() == [1.5, 2.5, 1.0, 1.0, 2.0]
    assert np.isnan(rows["B"]).tolist() == [False, True, False, True, True]
    ends = found.edges["City", "Road", "City"]
    assert sorted((found.ids["City"][a], found.ids["City"][b]) for a, b in ends.T) == [
        ("A", "B"),
        ("A", "B"),
        ("B", "C"),
    ]
    assert read_arrays(roads).edges.keys() == {("City", "Road", "City"), ("Line", "Serves", "City")}
    with pytest.raises(BadRequest, match=r"City\.name is not a number"):
        read_arrays(roads, {"City": ["name"]})


def test_pytorch_geometric_gets_tensors(roads: og.Graph) -> None:
    pytest.importorskip("torch", reason="PyTorch for Linux takes more than half a gigabyte; CI does not install it")
    pytest.importorskip("torch_geometric")
    found = to_hetero_data(roads, {"City": ["lat", "hub"]})
    assert found["City"].x.shape == (3, 2)
    assert found["City", "Road", "City"].edge_index.shape == (2, 3)
    assert found.validate()
