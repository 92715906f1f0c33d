"""The HTTP API: requests in, calls on the App, documents out.

`asgi.make_app` is the ASGI application, `http_server.Server` runs it in a thread of this process. Only this package is
asynchronous; what takes time is done by the few threads of `executors`. Every answer that is no document is a problem
(`problems`), and the OpenAPI document (`description`) names every answer there is.
"""
