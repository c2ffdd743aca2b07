"""A tree of classes by the dots in their names: comp.sys.mac is below comp.sys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A node of the tree: a class, or an inner node that groups classes."""

    name: str
    number: int | None = None  # of the class; None for an inner node that is no class
    children: list[Node] = field(default_factory=list)

    def leaves(self) -> Iterator[int]:
        """The numbers of the classes at or below this node."""
        if self.number is not None:
            yield self.number
        for child in self.children:
            yield from child.leaves()

    def nodes(self) -> Iterator[Node]:
        """All nodes below this one."""
        for child in self.children:
            yield child
            yield from child.nodes()


def taxonomy(classes: Sequence[str]) -> Node:
    """The tree of the classes' names; inner nodes with a single child are left out.

    >>> [node.name for node in taxonomy(["sci.med", "rec.autos", "rec.sport.hockey"]).nodes()]
    ['rec', 'rec.autos', 'rec.sport.hockey', 'sci.med']
    """
    root = Node("")
    for number, name in sorted(enumerate(classes), key=lambda one: one[1]):
        node = root
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            inner = ".".join(parts[:depth])
            below = next((child for child in node.children if child.name == inner), None)
            if below is None:
                below = Node(inner)
                node.children.append(below)
            node = below
        node.number = number
    root.children = [collapsed(child) for child in root.children]
    return root


def collapsed(node: Node) -> Node:
    """The node, or its only child if there is nothing to decide between."""
    node.children = [collapsed(child) for child in node.children]
    if node.number is None and len(node.children) == 1:
        return node.children[0]
    return node
