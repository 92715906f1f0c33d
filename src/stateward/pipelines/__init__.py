"""The pipelines that ship. Each is a plug-in that its entry point loads, exactly as one of a stranger's is.

Nothing imports this package: what the rest of Stateward wants of a pipeline, it asks through the protocol in
`stateward.definition.plugin`.
"""
