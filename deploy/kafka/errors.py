"""What can go wrong, as the two cases a caller treats differently."""


class KafkaUnavailableError(RuntimeError):
    """Java, Maven or the network is missing here. The message says what to do."""


class BrokerError(RuntimeError):
    """A broker did not start, or something is wrong with its folder or its port."""
