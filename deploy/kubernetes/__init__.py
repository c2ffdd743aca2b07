"""The Helm chart, and the tools that its tests need: Helm itself, and schemas of Kubernetes."""
