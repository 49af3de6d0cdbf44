"""NDlib: its Friedkin-Johnsen model, its HK model as shipped, and HK said in its ContinuousModel."""

from __future__ import annotations

from typing import Any

import ndlib.models.ModelConfig as config
import networkx as nx
import numpy as np
import numpy.typing as npt
from contract import STUBBORNNESS, TOLERANCE, Problem, Running
from ndlib.models.compartments.NodeStochastic import NodeStochastic
from ndlib.models.ContinuousModel import ContinuousModel
from ndlib.models.opinions.FJModel import FJModel
from ndlib.models.opinions.HKModel import HKModel

PACKAGES = ["ndlib", "networkx", "numpy"]


def graph_of(problem: Problem) -> nx.Graph:
    """The symmetric graph, nodes in order."""
    graph = nx.Graph()
    graph.add_nodes_from(range(problem.agents))
    reader = problem.reader()
    once = reader < problem.followed
    graph.add_edges_from(zip(reader[once].tolist(), problem.followed[once].tolist(), strict=True))
    return graph


class Shipped(Running):
    """A model of NDlib's own; it draws starts, which are then replaced by the problem's."""

    def __init__(self, problem: Problem, model: Any, settings: config.Configuration) -> None:
        self.model = model
        model.set_initial_status(settings)
        model.status = dict(enumerate(problem.stance.tolist()))
        model.initial_status = model.status.copy()
        model.iteration(node_status=False)  # the first only reports the start

    def step(self) -> None:
        self.model.iteration(node_status=False)

    def stances(self) -> npt.NDArray[np.float64]:
        status = self.model.status
        return np.array([status[node] for node in range(len(status))])


def friedkin_johnsen(problem: Problem) -> Shipped:
    """Synchronous over all nodes: the same model as ours."""
    settings = config.Configuration()
    for node in range(problem.agents):
        settings.add_node_configuration("stubbornness", node, STUBBORNNESS)
    return Shipped(problem, FJModel(graph_of(problem)), settings)


def hk_as_shipped(problem: Problem) -> Shipped:
    """An iteration looks at n nodes drawn with repeats, and writes the opinion of the last alone."""
    settings = config.Configuration()
    settings.add_model_parameter("epsilon", TOLERANCE)
    return Shipped(problem, HKModel(graph_of(problem)), settings)


class Continuous(Running):
    """Hegselmann-Krause as a rule of a ContinuousModel, which reads the state before the step: the same as ours."""

    def __init__(self, problem: Problem) -> None:
        starts = problem.stance.tolist()
        self.model = ContinuousModel(graph_of(problem))
        self.model.add_status("stance")
        self.model.add_rule("stance", mean_of_near, NodeStochastic(1))
        self.model.set_initial_status({"stance": lambda node, *_: starts[node]}, config.Configuration())
        self.model.iteration(node_status=False)

    def step(self) -> None:
        self.model.iteration(node_status=False)

    def stances(self) -> npt.NDArray[np.float64]:
        status = self.model.status
        return np.array([status[node]["stance"] for node in range(len(status))])


def mean_of_near(node: int, graph: Any, status: Any, attributes: Any, constants: Any) -> float:
    """What a node holds next."""
    own = status[node]["stance"]
    near = [said for other in graph.neighbors(node) if abs((said := status[other]["stance"]) - own) <= TOLERANCE]
    return sum(near) / len(near) if near else own


FORMS = {"averaging": friedkin_johnsen, "bounded_confidence": Continuous, "hk_as_shipped": hk_as_shipped}
