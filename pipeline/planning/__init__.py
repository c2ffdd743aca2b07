"""What a stream costs, what it needs, and how a cluster would do: model, plan and simulation."""
