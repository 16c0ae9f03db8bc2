"""Effects: intents carried out, one coroutine each, and what became of them."""
