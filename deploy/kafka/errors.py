"""The two kinds of errors that callers handle differently."""


class KafkaUnavailableError(RuntimeError):
    """Java, Maven or the network is not available. The message says what to do."""


class BrokerError(RuntimeError):
    """A broker failed to start, or its folder or port cannot be used."""
