"""Assistants: tools and resources of the Model Context Protocol (MCP), over stdio and HTTP."""
